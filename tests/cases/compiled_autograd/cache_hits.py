# What a backward depends on changes between calls: each is found, and no graph is used for another.
import torch
from torch._dynamo import compiled_autograd
from torch._dynamo.testing import CompileCounterWithBackend

counter = CompileCounterWithBackend("aot_eager")


def backward(loss, **how):
    with compiled_autograd._enable(torch.compile(backend=counter)):
        loss.backward(**how)


def show(name, *tensors):
    print(name, counter.frame_count, [None if t.grad is None else t.grad.tolist() for t in tensors])


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.nn.Parameter(torch.tensor([0.5, -1.0, 2.0]))


def loss():
    return (x.sin() * w).sum()


for _ in range(3):
    x.grad = w.grad = None
    backward(loss())
    show("from none", x, w)
for _ in range(2):
    backward(loss())
    show("accumulated", x, w)

kept = w.grad
backward(loss())
print("in place", kept is w.grad, kept.tolist())

x.grad = w.grad = None
backward(loss(), retain_graph=True)
show("from none again", x, w)

# A parameter that is a plain tensor, and the other way round.
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
x.grad = None
backward(loss())
show("a tensor", x, w)

w = torch.nn.Parameter(torch.tensor([0.5, -1.0, 2.0]))
x.grad = None
backward(loss())
show("a parameter", x, w)

# A leaf that asks for no gradient.
w.requires_grad_(False)
x.grad = w.grad = None
for _ in range(2):
    x.grad = None
    backward(loss())
    show("frozen", x, w)
w.requires_grad_(True)

# Other sizes and dtypes.
for n in (4, 5, 5):
    x, w = torch.ones(n, requires_grad=True), torch.nn.Parameter(torch.full((n,), 2.0))
    backward(loss())
    show(f"{n} elements", x, w)
x, w = torch.ones(3, dtype=torch.bfloat16, requires_grad=True), torch.nn.Parameter(torch.full((3,), 2.0, dtype=torch.bfloat16))
for _ in range(2):
    x.grad = w.grad = None
    backward(loss())
    show("bfloat16", x, w)

# A graph of the gradients.
x, w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.nn.Parameter(torch.ones(3))
for _ in range(2):
    x.grad = w.grad = None
    backward(loss(), create_graph=True)
    show("with a graph", x, w)
    print(x.grad.requires_grad, w.grad.requires_grad)

# A hook comes and goes.
x.grad = w.grad = None
handle = x.register_hook(lambda g: g * 10)
for _ in range(2):
    x.grad = w.grad = None
    backward(loss())
    show("with a hook", x, w)
handle.remove()
for _ in range(2):
    x.grad = w.grad = None
    backward(loss())
    show("without", x, w)

# What is asked for.
for inputs in ([x], [w], [x, w], [x]):
    x.grad = w.grad = None
    backward(loss(), inputs=inputs)
    show("some", x, w)
with compiled_autograd._enable(torch.compile(backend=counter)):
    for _ in range(2):
        print([g.tolist() for g in torch.autograd.grad(loss(), [w, x])], counter.frame_count)

# Everything that was compiled is forgotten.
torch._dynamo.reset()
for _ in range(2):
    x.grad = w.grad = None
    backward(loss())
    show("after a reset", x, w)

# A second backward of a graph that was not kept.
out = loss()
backward(out)
try:
    backward(out)
except RuntimeError as error:
    print(str(error).split(".")[0])
x.grad = w.grad = None
with torch.compiler.set_stance("force_eager"):
    backward(loss())
show("eagerly", x, w)
