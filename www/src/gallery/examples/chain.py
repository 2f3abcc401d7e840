import torch


def chain(x):
    # Cheap elementwise operators: the backward of each needs its own input again.
    y = x.sin()
    y = y.cos()
    y = (y * 2).sin()
    return (y.cos() * x).sum()


x = torch.linspace(0, 1, 4096, requires_grad=True)
loss = torch.compile(chain)(x)
loss.backward()
print("loss", round(loss.item(), 2))
print("grad norm", round(x.grad.norm().item(), 3))
