import torch
torch.manual_seed(0)
@torch.compile
def f(x, w):
    X = torch.fft.rfft(x, dim=-1)
    Y = X * torch.view_as_complex(w)
    y = torch.fft.irfft(Y, n=x.shape[-1], dim=-1)
    return y, X.abs().sum(), torch.view_as_real(Y)
x = torch.randn(2, 8, requires_grad=True)
w = torch.randn(5, 2, requires_grad=True)
y, s, r = f(x, w)
(y.pow(2).sum() + s).backward()
print(x.grad.norm().round(decimals=3), w.grad.norm().round(decimals=3), r.shape)
