# A tensor of a class made of tensors of a class: each call's graph is given that call's sizes.
import torch
from torch.testing._internal.two_tensor import TwoTensor


@torch.compile(dynamic=True)
def scaled(t):
    return t * t.shape[0]


for n in (2, 3, 5):
    inner = TwoTensor(torch.ones(n), torch.ones(n) * 2)
    out = scaled(TwoTensor(inner, inner * 3))
    print(out.a.a, out.a.b, out.b.a, out.b.b)
