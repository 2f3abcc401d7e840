import torch


@torch.compile
def double_positive(x, mask):
    x = x * 1
    x[mask] = x[mask] * 2
    x[..., 0] = torch.where(mask[..., 0], 0.0, x[..., 0])
    return x.sum() * 2


for seed in range(2):
    torch.manual_seed(seed)
    x = torch.randn(3, 3, requires_grad=True)
    out = double_positive(x, x > 0)
    out.backward()
    print(out, x.grad)


@torch.compile
def without_gradients(x, mask):
    y = x + 1
    y[mask] = x[mask] * 2
    return y


print(without_gradients(torch.arange(4.0), torch.tensor([True, False, True, False])))
