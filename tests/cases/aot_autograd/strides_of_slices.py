import torch


@torch.compile
def columns(x):
    return x.sin() * x.shape[0]


base = torch.arange(120.0).reshape(10, 12)
for k in (3, 5, 7):
    print(columns(base[:, :k])[0, 0])
print(columns(base[4:, :k]).shape)


@torch.compile
def doubled(x):
    return x * 2


for n in (8, 10, 12):
    whole = torch.arange(6.0 * n).reshape(6, n).requires_grad_()
    out = doubled(whole[:, 1:5])
    out.sum().backward()
    print(out.shape, whole.grad.sum())


@torch.compile
def loss(batch):
    return (batch**2).mean()


data = torch.arange(210.0).reshape(21, 10)
for start in range(0, 21, 6):
    print(start, loss(data[start : start + 6]).item())
