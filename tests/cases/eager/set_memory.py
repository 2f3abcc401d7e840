"""`Tensor.set_` is a change that autograd and versions see; `.data` is none."""

import torch

x = torch.zeros(2)
x.set_(torch.ones(4))
print(x._version, x)
x.set_(torch.ones(3).untyped_storage(), 0, (3,), (1,))
print(x._version, x.shape)
source = torch.ones(2)
x.set_(source)
source.add_(1)
print(x, x._version, source._version)
x.set_()
print(x._version, x)
weight, scale = torch.ones(2, requires_grad=True), torch.ones(2)
out = (weight * scale).sum()
scale.set_(torch.zeros(2))
try:
    out.backward()
except RuntimeError as error:
    print("modified by an inplace operation" in str(error))
parameter = torch.nn.Parameter(torch.ones(2))
parameter.data = torch.zeros(3)
print(parameter._version)
