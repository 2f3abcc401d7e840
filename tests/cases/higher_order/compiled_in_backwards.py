"""Compiled functions that a backward calls: by hooks, custom functions, hooks on saved values, checkpoints."""
import torch
from torch.utils.checkpoint import checkpoint

ran = []


def backend(gm, inputs):
    def run(*args):
        ran.append(len(gm.graph.nodes))
        return gm(*args)

    return run


g = torch.compile(lambda x: x * 2 + 1, backend=backend)
x = torch.ones(2, requires_grad=True)


def show(name):
    print(name, ran, x.grad)
    ran.clear()
    x.grad = None


y = x * 1
y.register_hook(lambda grad: g(grad))
y.sum().backward()
show("hook")
g(torch.ones(2))
show("called afterwards")
handle = x.register_post_accumulate_grad_hook(lambda p: print("accumulated", g(p.grad)))
(x * 3).sum().backward()
show("accumulated")
handle.remove()


class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return g(x)

    @staticmethod
    def backward(ctx, grad):
        return g(grad)


F.apply(x).sum().backward()
show("custom function")
with torch.autograd.graph.saved_tensors_hooks(lambda t: g(t.detach()), lambda t: g(t)):
    z = x * x
z.sum().backward()
show("saved values")
node = (x * 2).sum()
node.grad_fn.register_hook(lambda inputs, outputs: (g(inputs[0]),))
node.backward()
show("hook of a node")


def outer(x):
    z = (x * x).sum()
    z.backward()
    return z * 2


x.register_hook(lambda grad: g(grad))
print(torch.compile(outer, backend=backend)(x))
show("in a compiled function")

block = torch.compile(lambda x: torch.tanh(x @ x), backend="aot_eager")
noisy = torch.compile(lambda x: torch.nn.functional.dropout(x.sin(), 0.5).exp(), backend="aot_eager")
for function in (block, noisy, lambda x: block(noisy(x)) + noisy(x)):
    torch.manual_seed(0)
    m = torch.tensor([[0.5, 2.0], [1.5, -1.0]], requires_grad=True)
    checkpoint(function, m, use_reentrant=False).sum().backward()
    print(m.grad)
    torch.manual_seed(0)
    m = torch.tensor([[0.5, 2.0], [1.5, -1.0]], requires_grad=True)
    checkpoint(function, m, use_reentrant=True).sum().backward()
    print(m.grad)

p = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
q = torch.compile(lambda x: x**3, backend="aot_eager")(p)
try:
    torch.vmap(lambda v: torch.autograd.grad(q, p, v, retain_graph=True)[0])(torch.eye(3))
except RuntimeError as error:
    print(error)
try:
    torch.func.vmap(lambda v: v * torch.autograd.grad(q.sum(), p, retain_graph=True)[0])(torch.ones(2, 3))
except RuntimeError as error:
    print(error)
