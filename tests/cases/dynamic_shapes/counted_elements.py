# numel() of an input is read off it, that of another tensor is computed from the symbols; asked for twice, it is one number.
import torch


@torch.compile(backend="aot_eager", dynamic=True)
def mean(x):
    return x.sin().sum() / x.numel()


torch.manual_seed(0)
x = torch.randn(3, 4, 5, requires_grad=True)
mean(x).backward()
print(x.grad.shape)


@torch.compile(backend="aot_eager", dynamic=True)
def of_inputs(x, y):
    n = x.numel()
    return x.reshape(n) * y.numel() + x.shape[0] * n, n


print(of_inputs(torch.ones(3, 4), torch.ones(6, 5))[1])


@torch.compile(backend="aot_eager", dynamic=True)
def of_results(x):
    a = x.sin()
    return a, [a.shape[0] * 2, a.numel()], a.shape[0] + a.shape[1] * a.shape[0], x.numel() * 2


print(of_results(torch.ones(3, 4))[1:])


@torch.compile(backend="aot_eager", dynamic=True)
def asked_only(x, y):
    if y.numel() > 10:
        return x + 1
    return x * x.nelement()


print(asked_only(torch.ones(3, 4), torch.ones(2, 5)).sum(), asked_only(torch.ones(3, 4), torch.ones(4, 5)).sum())


@torch.compile(backend="aot_eager", dynamic=True)
def views(x):
    b, t, c = x.shape
    y = x.view(b * t, c)
    z = y.transpose(0, 1).reshape(-1)
    return z * z.size(0), y.shape[0] // 2, y.nelement()


print(views(torch.ones(3, 4, 2))[1:])
