import torch

@torch.compile
def f(x, i, b):
    i.add_(1)
    return x * i + b.to(x.dtype), x.half() + 1, i // 2, b | (i > 1)
x = torch.arange(3.).requires_grad_()
i = torch.arange(3)
b = torch.tensor([True, False, True])
outs = f(x, i, b)
print(outs, i)
(outs[0].sum() + outs[1].float().sum()).backward()
print(x.grad)
