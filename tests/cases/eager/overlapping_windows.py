"""Writes to windows that overlap go element by element, so that an element is written as often as it occurs."""
import torch


def show(view, *steps):
    x = torch.arange(6.0)
    for step in steps:
        step(view(x))
    print(x)


rows = lambda x: x.as_strided((3, 2), (1, 1))
windows = lambda x: x.unfold(0, 3, 1)
spread = lambda x: x.as_strided((2, 2), (3, 2))
for view in (rows, windows, spread):
    show(view, lambda v: v.mul_(2.0))
    show(view, lambda v: v.add_(1.0))
    show(view, lambda v: v.add_(torch.arange(float(v.numel())).reshape(v.shape)))
    show(view, lambda v: v.mul_(torch.tensor([2.0])), lambda v: v.sub_(1.0))
    show(view, lambda v: v.copy_(torch.arange(float(v.numel())).reshape(v.shape)))
    show(view, lambda v: v.sqrt_())
    show(view, lambda v: v.neg_())
    show(view, lambda v: v.fill_(3.0))
    show(view, lambda v: v.clamp_(1.0, 3.0))
x = torch.arange(8)
x.unfold(0, 2, 1).add_(x.unfold(0, 2, 1).clone())
print(x)
x = torch.arange(8)
x.as_strided((2, 3, 2), (2, 1, 1)).mul_(3)
print(x)
try:
    torch.zeros(3).expand(2, 3).add_(1)
except RuntimeError as error:
    print(error)
