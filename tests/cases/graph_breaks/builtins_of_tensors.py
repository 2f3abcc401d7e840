"""Builtins that ask a tensor's elements, divergences that are looked for, and log-sigmoids of tensors in another order."""

import torch
import torch.distributions as D
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import kl_divergence


def survivors(layers, p):
    dropped = torch.zeros(len(layers)).uniform_(0.0, 1.0) > p
    if all(dropped):
        dropped[0] = False
    return [layer for (layer, d) in zip(layers, dropped.tolist()) if not d]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(4, 3)
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])

    def forward(self, x):
        x = self.e(x)
        return nn.Sequential(*survivors(self.layers, 0.5))(x)


torch.manual_seed(0)
out = torch.compile(Net())(torch.tensor([1])).sum()
out.backward()
print(out)


@torch.compile
def loss_of(q, p, z, x):
    rec = (z.sum(-1) - x).pow(2)
    return (kl_divergence(q, p).sum(-1) + rec).mean()


mu, logvar = torch.randn(3, 2, requires_grad=True), torch.zeros(3, 2, requires_grad=True)
prior = D.Normal(torch.zeros(2), torch.ones(2))
for _ in range(2):
    q = D.Normal(mu, torch.exp(0.5 * logvar))
    loss = loss_of(q, prior, q.rsample(), torch.ones(3))
    loss.backward()
    print(loss, mu.grad.sum())


@torch.compile
def known(q, p):
    return kl_divergence(q, p).sum() * 2


print(known(D.Normal(mu, 1.0), prior))
for p, q in [
    (D.Beta(2.0, 3.0), D.Normal(0.0, 1.0)),
    (D.Laplace(0.0, 1.0), D.Normal(1.0, 2.0)),
    (D.Normal(0.0, 1.0), D.Laplace(1.0, 2.0)),
    (D.Uniform(0.0, 1.0), D.Normal(0.0, 1.0)),
    (D.Gamma(2.0, 1.0), D.Exponential(2.0)),
    (D.Exponential(2.0), D.Gamma(2.0, 1.0)),
    (D.HalfNormal(1.0), D.HalfNormal(2.0)),
    (D.Geometric(0.3), D.Geometric(0.6)),
    (D.Normal(0.0, 1.0), D.Gamma(1.0, 1.0)),
    (D.LogNormal(0.0, 1.0), D.LogNormal(1.0, 1.0)),
]:
    print(type(p).__name__, type(q).__name__, f"{kl_divergence(p, q).item():.4f}")


@torch.compile
def gate(x):
    return F.logsigmoid(x).cumsum(-2)


print(gate(torch.linspace(-2, 2, 32).view(1, 8, 4).chunk(2, -1)[0].unsqueeze(-1).transpose(1, 2)).shape, gate(torch.ones(3, 4).t()).shape)
