import torch

@torch.compile
def f(x, w):
    return torch.nn.functional.conv2d(x, w), x.contiguous() + 1
x = torch.arange(32.).reshape(1, 2, 4, 4).contiguous(memory_format=torch.channels_last).requires_grad_()
w = torch.ones(2, 2, 3, 3, requires_grad=True)
a, b = f(x, w)
print(a.stride(), b.stride())
(a.sum() + b.sum()).backward()
print(x.grad.stride(), w.grad)
