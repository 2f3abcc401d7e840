# A frame whose marked size turned out to be a number counts among those that were looked at, not among those in order.
import torch


def f(x):
    return x.view(2, -1) if x.shape[0] == 6 else x


x = torch.arange(6.0)
torch._dynamo.mark_dynamic(x, 0)
try:
    torch.compile(f, backend="aot_eager")(x)
except Exception as error:
    print(type(error).__name__)
print(dict(torch._dynamo.utils.counters["frames"]))


def failing(gm, inputs):
    raise ValueError("no")


try:
    torch.compile(lambda x: x + 1, backend=failing)(torch.ones(2))
except Exception as error:
    print(type(error).__name__)
print(torch.compile(lambda x: torch.sym_sqrt(x.shape[0]) + x.sum(), backend="aot_eager", dynamic=True)(torch.ones(4)))
print(dict(torch._dynamo.utils.counters["frames"]))
