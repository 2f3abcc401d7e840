"""Forward mode: products with Jacobians, Jacobians and Hessians of models and losses, compiled."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, hessian, jacfwd, jvp, vmap

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.norm = nn.BatchNorm2d(2, track_running_stats=False)
        self.head = nn.Linear(18, 3)
        self.scale = nn.LayerNorm(3)

    def forward(self, x):
        h = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return self.scale(self.head(h.flatten(1)))


mlp = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
net = Net()
x, y = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
images = torch.randn(2, 1, 8, 8)


def plain(module):
    return {k: p.detach() for k, p in module.named_parameters()}


@torch.compile(backend="aot_eager")
def push(params, direction, images):
    return jvp(lambda p: functional_call(net, p, (images,)), (params,), (direction,))


@torch.compile(backend="aot_eager")
def jacobians(x):
    return vmap(jacfwd(lambda row: mlp(row)))(x)


@torch.compile(backend="aot_eager")
def curvature(x):
    return hessian(lambda x: (x.tanh() @ x.t()).pow(2).sum())(x)


@torch.compile(backend="aot_eager")
def hvp(params, direction, x, y):
    loss = lambda p: F.cross_entropy(functional_call(mlp, p, (x,)), y)
    return jvp(grad(loss), (params,), (direction,))[1]


@torch.compile(backend="aot_eager")
def written(x):
    def f(x):
        out = x.clone()
        out[0] = x[1] * 2
        return out.mul_(x).add_(1).sin()

    return jvp(f, (x,), (x,))


@torch.compile(backend="aot_eager")
def activations(x):
    f = lambda x: F.softmax(x, -1).log() * 3 + F.gelu(x) - x.sigmoid() + F.silu(x) + F.logsigmoid(x)
    return jvp(f, (x,), (torch.ones_like(x),))[1]


params = plain(net)
out, tangent = push(params, {k: torch.ones_like(p) * 0.1 for k, p in params.items()}, images)
print(out.shape, tangent.shape, tangent.sum(0))
print(jacobians(x)[0])
print(curvature(x).shape, curvature(x)[0, 0, 1])
weights = plain(mlp)
print({k: v.flatten()[:2] for k, v in hvp(weights, {k: torch.ones_like(p) for k, p in weights.items()}, x, y).items()})
print(written(x)[1])
print(activations(x)[0])
row = x[0]
value, back = torch.func.vjp(lambda x: x.exp(), row)
back(torch.ones(3))
print(value.requires_grad, torch.func.jacrev(lambda x: x.exp(), chunk_size=1)(row).requires_grad)
