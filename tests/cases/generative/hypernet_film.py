"""Networks that make networks: a HyperNetwork through functional_call, FiLM conditioning, and gating by Gumbel softmax."""
import math
from typing import Dict, NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, stack_module_state, vmap

torch.manual_seed(4)


class Spec(NamedTuple):
    name: str
    shape: torch.Size
    numel: int


class HyperNetwork(nn.Module):
    def __init__(self, target: nn.Module, z_dim=4, hidden=16):
        super().__init__()
        self.specs = [Spec(n, p.shape, p.numel()) for n, p in target.named_parameters()]
        self.embedding = nn.Parameter(torch.randn(len(self.specs), z_dim))
        self.trunk = nn.Sequential(nn.Linear(z_dim, hidden), nn.Tanh())
        self.heads = nn.ModuleDict({s.name.replace(".", "_"): nn.Linear(hidden, s.numel) for s in self.specs})
        for head in self.heads.values():
            nn.init.normal_(head.weight, std=1 / math.sqrt(hidden))
            nn.init.zeros_(head.bias)

    def forward(self) -> Dict[str, torch.Tensor]:
        h = self.trunk(self.embedding)
        return {s.name: self.heads[s.name.replace(".", "_")](h[i]).view(s.shape) for i, s in enumerate(self.specs)}


target = nn.Sequential(nn.Linear(2, 8), nn.SiLU(), nn.Linear(8, 1))
hyper = HyperNetwork(target)
print([tuple(s) for s in hyper.specs])
x = torch.rand(32, 2) * 2 - 1
y = (x[:, :1] * x[:, 1:]).sin()
opt = torch.optim.NAdam(hyper.parameters(), lr=1e-2)


@torch.compile
def hyper_loss(x, y):
    return F.mse_loss(functional_call(target, hyper(), (x,)), y)


for step in range(4):
    loss = hyper_loss(x, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"hyper {step} {loss.item():.5f}")
print(target[0].weight.grad, all(p.grad is not None for p in hyper.parameters()))


class FiLM(nn.Module):
    def __init__(self, channels, cond):
        super().__init__()
        self.proj = nn.Linear(cond, channels * 2)

    def forward(self, x, c):
        gamma, beta = self.proj(c).unsqueeze(-1).unsqueeze(-1).chunk(2, dim=1)
        return (1 + gamma) * x + beta


class FiLMNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding="same")
        self.norm = nn.GroupNorm(2, 8, affine=False)
        self.film = FiLM(8, 5)
        self.gate = nn.Linear(5, 2)
        self.branches = nn.ModuleList([nn.Conv2d(8, 8, 1), nn.Conv2d(8, 8, 3, padding=1, groups=8)])
        self.out = nn.Linear(8, 4)

    def forward(self, x, c, tau: float = 1.0, hard: bool = False):
        h = F.relu(self.film(self.norm(self.stem(x)), c))
        g = F.gumbel_softmax(self.gate(c), tau=tau, hard=hard)
        h = sum(w.view(-1, 1, 1, 1) * b(h) for w, b in zip(g.unbind(1), self.branches))
        return self.out(h.amax(dim=(2, 3))), g


net = FiLMNet()
images, cond, labels = torch.randn(4, 3, 6, 6), F.one_hot(torch.tensor([0, 1, 4, 2]), 5).float(), torch.tensor([3, 0, 1, 1])
fwd = torch.compile(net)
opt = torch.optim.Adamax(net.parameters(), lr=5e-3)
for step, hard in enumerate([False, False, True]):
    logits, g = fwd(images, cond, tau=0.7, hard=hard)
    loss = F.cross_entropy(logits, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"film {step} {loss.item():.4f}", [[round(v, 3) for v in row] for row in g[:2].tolist()])

models = [nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 1)) for _ in range(3)]
params, buffers = stack_module_state(models)
print({k: tuple(v.shape) for k, v in params.items()}, buffers)


def loss_of(params, x, y):
    return F.mse_loss(functional_call(models[0], params, (x,)), y)


losses = vmap(loss_of, in_dims=(0, None, None))(params, x, y)
grads = vmap(grad(loss_of), in_dims=(0, None, None))(params, x, y)
print([round(v, 4) for v in losses.tolist()], {k: round(v.norm().item(), 4) for k, v in grads.items()})
with torch.no_grad():
    params = {k: p - 0.1 * grads[k] for k, p in params.items()}
print((vmap(loss_of, in_dims=(0, None, None))(params, x, y) < losses).tolist())
