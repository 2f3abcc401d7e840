import torch


@torch.compile
def smooth(x):
    y = x.sin()
    windows = y.unfold(0, 2, 2)
    windows[1].mul_(3)
    return y, windows * 2


@torch.compile
def refused(x):
    y = x.sin()
    windows = y.unfold(0, 4, 2)
    windows[1].mul_(3)
    return y


x = torch.arange(8.0).requires_grad_()
y, windows = smooth(x)
windows.sum().backward()
print(y, windows, x.grad)
try:
    refused(x)
except Exception as e:
    print(type(e).__name__, str(e).split("\n")[1][:118])
