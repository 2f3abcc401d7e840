import torch
@torch.compile
def f(x):
    y = x.cos()
    return y, y.detach(), y.view(-1), y.t(), y.view(-1).detach()
x = torch.arange(4.).view(2, 2).requires_grad_()
o = f(x)
for t in o: print(t.requires_grad, t._is_view(), t.shape)
with torch.no_grad(): o[0].add_(1)
print([t.view(-1)[0].item() if t.is_contiguous() else t[0, 0].item() for t in o])
(o[0].sum() + o[2].sum() * 2 + o[3].sum()).backward()
print(x.grad)
