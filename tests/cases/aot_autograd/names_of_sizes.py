import torch
import torch.nn.functional as F

weight = torch.ones(3, 8, requires_grad=True)
bias = torch.ones(3, requires_grad=True)


def rows(x):
    return F.linear(x, weight, bias) * 2 + F.linear(x, weight) * 3


def turned(x):
    y = x.transpose(0, 1).reshape(-1, 8) * 2
    return y.flatten() * 3


def products(x):
    scores = x @ x.transpose(1, 2) * 0.5
    return scores.mean() * scores.sin()


def written(x):
    y = x.clone()
    y.mul_(2).add_(1)
    return y * 3 + 1


def joined(x):
    return torch.cat([x, x * 2, x.sin()], 0).reshape(-1) * 4


def parts(x):
    a, b = x.chunk(2, 1)
    return (a * b.contiguous() + a).mean((0, 1)) * 2


for f, dims in [(rows, (0, 1)), (turned, (0,)), (products, (0, 1)), (written, (0,)), (joined, (0,)), (parts, (0,))]:
    torch._dynamo.reset()
    x = torch.linspace(-1, 1, 2 * 4 * 8).reshape(2, 4, 8).requires_grad_()
    for dim in dims:
        torch._dynamo.mark_dynamic(x, dim)
    out = torch.compile(f)(x)
    out.sum().backward()
    print(f.__name__, tuple(out.shape), f"{x.grad.sum().item():.4f}")
