import torch
def f(x):
    y=x
    for i in range(120): y=torch.sin(y) if i%3 else y*1.01+x
    return y.sum()
x=torch.randn(10,requires_grad=True)
torch.compile(f,backend="aot_eager")(x).backward(); print(round(x.grad.abs().sum().item(),2)>=0)
