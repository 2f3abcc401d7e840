"""The tangent of an argument that is written to has the strides of the value that the graph returns for it."""
import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd


def backward(gm, inputs):
    print([(tuple(t.shape), t.stride()) for t in inputs if isinstance(t, torch.Tensor)])
    return make_boxed_func(gm.forward)


own = aot_autograd(fw_compiler=lambda gm, inputs: make_boxed_func(gm.forward), bw_compiler=backward)
leaf = None


def run(view, function, shape=(4, 6)):
    global leaf
    torch._dynamo.reset()
    leaf = torch.arange(float(torch.Size(shape).numel())).reshape(shape).requires_grad_()
    base = leaf * 1.0
    torch.compile(function, backend=own)(view(base))
    (base * base).sum().backward()
    print(leaf.grad.sum())


def multiply(a):
    a.mul_(3.0)


def copy(a):
    a.copy_(a * 2)


def row(a):
    a[0].mul_(2.0)


run(lambda base: base[::2], multiply, (6,))
run(lambda base: base[::2], copy, (6,))
run(lambda base: base[:, ::2], multiply)
run(lambda base: base[:, ::2].t(), multiply)
run(lambda base: base.t(), multiply)
run(lambda base: base.t(), row)
run(lambda base: base[:, 1:3], row)
run(lambda base: base[::2, 1:3].t(), copy)
run(lambda base: base[1:, 1:3], lambda a: a.add_(a.t().contiguous().t()[:1]))


@torch.compile
def written(a):
    a.mul_(3.0)


leaf = torch.arange(5.0, requires_grad=True)
base = leaf * 1.0
written(base[::2])
base.sum().backward()
print(leaf.grad)
