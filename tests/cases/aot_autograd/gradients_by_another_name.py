# torch.autograd.grad imported by name; a value of the graph that comes to require grad before.
import torch
import torch.nn as nn
from torch.autograd import grad
from torch.autograd import grad as derivative

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(3, 4), nn.SiLU(), nn.Linear(4, 1))


@torch.compile
def penalty(real, fake):
    x = (real * 0.5 + fake * 0.5).requires_grad_(True)
    out = critic(x)
    g = grad(outputs=out, inputs=x, grad_outputs=torch.ones_like(out), create_graph=True, retain_graph=True)[0]
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


@torch.compile
def slope(x):
    x = x.detach().requires_grad_()
    return derivative((x**3).sum(), x)[0] * 2


p = penalty(torch.randn(2, 3), torch.randn(2, 3))
p.backward()
print(p, critic[0].weight.grad.norm())
print(slope(torch.arange(3.0)))


@torch.compile
def forces(pos, w):
    pos = pos.requires_grad_(True)
    d = (pos[:, None] - pos[None]).norm(dim=-1) + torch.eye(pos.shape[0])
    e = (w * (1 / d).triu(1)).sum()
    return e, -torch.autograd.grad(e, pos)[0]


@torch.compile
def energy(x, w):
    e = (x @ w).tanh().sum()
    return e, torch.autograd.grad(e, x)[0]


e, f = forces(torch.randn(3, 2), torch.ones(3, 3))
print(e, f.shape)
print(energy(torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)))


@torch.compile
def squeezed(x):
    return torch.func.vmap(lambda r: (r[None] * 2).squeeze().sin().sum())(x)


print(squeezed(torch.ones(2, 3)))
