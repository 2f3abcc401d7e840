import torch
@torch.compile(dynamic=True)
def f(x, heads: int):
    b, t, c = x.shape
    assert c % heads == 0
    y = x.view(b, t, heads, c // heads).transpose(1, 2)
    return (y @ y.transpose(-2, -1)).softmax(-1) @ y
for s, h in (((2, 3, 8), 2), ((4, 5, 12), 3), ((2, 7, 8), 4)):
    x = torch.ones(s, requires_grad=True)
    y = f(x, h); y.sum().backward(); print(tuple(y.shape), y.sum().item(), round(x.grad.sum().item(), 3))
