# keep: exception
import torch
from torch._dynamo.backends.common import aot_autograd
from functorch.compile import make_boxed_func


def fine(gm, inputs):
    return make_boxed_func(gm.forward)


def broken(gm, inputs):
    raise RuntimeError("no backward today")


f = torch.compile(lambda x: (x * x).sum(), backend=aot_autograd(fw_compiler=fine, bw_compiler=broken))
x = torch.ones(3, requires_grad=True)
y = f(x)
print("forward", y.item())
y.backward()
print(x.grad)
