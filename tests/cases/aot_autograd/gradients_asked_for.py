import torch


@torch.compile
def penalty(x, w):
    y = torch.tanh(x @ w).sum()
    # `y` is needed afterwards: the function is left to Python.
    (gx,) = torch.autograd.grad(y, x, create_graph=True)
    return y + gx.pow(2).sum()


@torch.compile
def of_intermediate(x):
    h = x.sin()
    return torch.autograd.grad((h * h).sum(), h)[0] * 2


@torch.compile
def alone(x):
    return torch.autograd.grad((x**3).sum(), x)[0] * 2


x = torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
w = torch.linspace(0, 1, 6).reshape(3, 2).requires_grad_()
out = penalty(x, w)
print(out)
out.backward()
print(x.grad, w.grad)
print(of_intermediate(x))
print(alone(x))
