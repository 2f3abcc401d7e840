# what torch.compile makes of it: a graph break, an error with fullgraph, allow_in_graph
import torch
from torch._ops import HigherOrderOperator
from torch._C import DispatchKey


class Twice(HigherOrderOperator):
    def __init__(self):
        super().__init__("twice")

    def __call__(self, fn, x):
        return super().__call__(fn, x)


twice = Twice()


@twice.py_impl(DispatchKey.CompositeExplicitAutograd)
def twice_dense(fn, x):
    return fn(fn(x))


@twice.py_autograd_impl
def twice_autograd(fn, x):
    return twice_dense(fn, x)


def f(x):
    y = x.sin()
    z = twice(torch.cos, y)
    return z * 2


x = torch.randn(4, requires_grad=True)
torch.manual_seed(1)
from torch._dynamo.testing import CompileCounter
counter = CompileCounter()
out = torch.compile(f, backend=counter)(x)
print(torch.allclose(out, f(x)), counter.frame_count)
torch._dynamo.reset()
out = torch.compile(f)(x)
out.sum().backward()
print(x.grad.shape)
torch._dynamo.reset()
try:
    torch.compile(f, fullgraph=True)(x)
except torch._dynamo.exc.Unsupported as e:
    print(e)
