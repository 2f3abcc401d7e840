import torch

torch.manual_seed(0)


@torch.compile
def f(x, b):
    a = x @ x.transpose(0, 1) + 3 * torch.eye(3)
    l = torch.linalg.cholesky(a)
    i = torch.linalg.inv(a)
    s = torch.linalg.solve(a, b)
    return l.sum() + i.sum() + s.sum()


x = torch.randn(3, 3, requires_grad=True)
b = torch.randn(3, 2)
f(x, b).backward()
print(x.grad)
with torch.no_grad():
    print(f(x, b))


@torch.compile
def in_place(x, n):
    n.add_(1)
    y = torch.linalg.inv(x)
    return y.transpose(-1, -2), n * 2


n = torch.zeros(2)
print(in_place(torch.eye(2, requires_grad=True) * 2, n), n)
try:
    in_place(torch.zeros(2, 2, requires_grad=True) * 2, n)
except torch.linalg.LinAlgError as e:
    print(e)


@torch.compile
def asserts(x):
    torch._assert_async((x > -100).all(), "too small")
    torch._assert_async(x.sum() < 100)
    return x.sin()


print(asserts(torch.ones(3)))
asserts(torch.ones(3, requires_grad=True)).sum().backward()
try:
    asserts(torch.full((3,), -200.0))
except RuntimeError as e:
    print(e)
