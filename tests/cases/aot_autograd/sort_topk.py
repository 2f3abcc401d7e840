import torch

@torch.compile
def f(x):
    v, i = x.sort(descending=True)
    t, j = v.topk(2)
    v.mul_(2)
    return v, i, t, j
x = torch.tensor([3., 1., 2.], requires_grad=True)
v, i, t, j = f(x)
print(v, i, t, j)
(v.sum() + t.sum()).backward()
print(x.grad)
