import torch

@torch.compile
def f(x, flag):
    y = x + 1
    return None, y, 3, "s", flag, (y * 2 if flag else None)
x = torch.ones(2, requires_grad=True)
print(f(x, True)[2:5], f(x, False)[-1])
