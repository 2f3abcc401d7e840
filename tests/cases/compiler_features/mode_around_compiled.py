import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Tenfold(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        return out * 10 if func is torch.ops.aten.cos.default else out


f = torch.compile(lambda x: torch.cos(x) + 1)
with Tenfold():
    print(f(torch.zeros(1)))
print(torch._dynamo.utils.counters["stats"].get("unique_graphs"))
print(f(torch.zeros(1)))
print(torch._dynamo.utils.counters["stats"].get("unique_graphs"))

# Views taken without gradients are written by a compiled function again and again.
p = torch.nn.Parameter(torch.arange(4.0))
with torch.no_grad():
    view = p[:2]


@torch.compile
@torch.no_grad()
def update(view):
    view.sub_(1.0)


update(view)
update(view)
print(p.detach())

# A function that is to be one graph is, whoever calls it.
inner = torch.compile(lambda x: (print("in"), x * 3)[1], fullgraph=True)
try:
    torch.compile(lambda x: inner(x) + 1)(torch.ones(2))
except torch._dynamo.exc.Unsupported as error:
    print(type(error).__name__, str(error).split("\n")[0])


class Scale:
    value = 1.0


torch._dynamo.reset()
torch._dynamo.utils.counters.clear()
scaled = torch.compile(lambda x: x * Scale.value)
for Scale.value in (1.0, 2.0, 3.0, 4.0):
    print(scaled(torch.ones(2)))
print(torch._dynamo.utils.counters["stats"].get("unique_graphs"))


# A custom function in a transform has its own backward.
class Sine(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.sin(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        return grad * 7.0 + ctx.saved_tensors[0]


print(torch.compile(torch.func.grad(lambda x: Sine.apply(x).sum()))(torch.ones(2)))
