import torch
@torch.compile
def f(x):
    with torch.no_grad():
        s = x.abs().amax(-1, keepdim=True)
    y = x / s
    with torch.set_grad_enabled(False):
        z = y * 2
    with torch.enable_grad():
        w = z + x
    return y, z, w
x = torch.randn(2, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
y, z, w = f(x)
print(y.requires_grad, z.requires_grad, w.requires_grad)
(y.sum() + w.sum()).backward(); print(x.grad)
