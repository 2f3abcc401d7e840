import torch

w = torch.nn.Parameter(torch.ones(3))
@torch.compile
def f(x):
    with torch.no_grad():
        w.mul_(0.5)
    return (w * x).sum()
f(torch.arange(3.)).backward()
print(w, w.grad)
