import torch
@torch.compile
def langevin(x, w, steps):
    for _ in range(steps):
        x = x.detach().requires_grad_(True)
        e = ((x @ w) ** 2).sum()
        g, = torch.autograd.grad(e, x)
        x = x - 0.1 * g
    return x.detach()
x = torch.ones(2, 3); w = torch.eye(3)
print(langevin(x, w, 2))
@torch.compile
def force(pos):
    d = (pos[:, None] - pos[None]).pow(2).sum(-1)
    e = (d + torch.eye(3)).reciprocal().sum()
    f = -torch.autograd.grad(e, pos)[0]
    return f * 0.5
p = torch.tensor([[0., 0.], [1., 0.], [0., 2.]], requires_grad=True)
print(force(p))
@torch.compile
def inner(x, w):
    y = (x * w).sin()
    g = torch.autograd.grad(y.sum(), w)[0]
    return g * 2
w = torch.ones(3, requires_grad=True)
print(inner(torch.arange(3.), w))
