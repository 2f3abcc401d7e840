import torch
from torch.utils.checkpoint import checkpoint


def picks(x):
    largest, where = x.max(0)
    ordered, _ = x.sort()
    return largest * ordered + x.topk(2)[0].sum() * (x > 0)


def f(x):
    return checkpoint(picks, x, use_reentrant=False).tanh().sum()


x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
y = torch.compile(f)(x)
y.backward()
print(y.detach(), x.grad)
