"""What was traced, faked or dispatched otherwise before leaves no trace in what is computed now."""
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode


class Count(TorchDispatchMode):
    calls = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        Count.calls += 1
        return func(*args, **(kwargs or {}))


def gradients(when):
    x = torch.tensor([[float("nan"), 2.0], [1.0, 3.0]], requires_grad=True)
    print(when, torch.autograd.grad(x.prod(), x)[0].tolist(), torch.autograd.grad(x.prod(1).sum(), x)[0].tolist())


gradients("first")
with FakeTensorMode():
    print(torch.ones(2, 3).prod(1).shape)
gradients("after a fake mode")
with Count():
    torch.ones(2).prod()
gradients("after a dispatch mode")
print(Count.calls)
make_fx(lambda x: x.prod())(torch.ones(2))
torch.func.functionalize(lambda x: x.prod())(torch.ones(2))
torch.compile(lambda x: x.prod(), backend="eager")(torch.ones(2))
gradients("after tracing")
