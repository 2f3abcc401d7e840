#!/usr/bin/env python
"""Bayes by Backprop, MC dropout and a vmapped deep ensemble on a one-dimensional regression."""
import argparse
import copy
import logging
import math
import sys
from dataclasses import asdict, dataclass, field
from typing import List, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.utils.data import DataLoader, TensorDataset, random_split

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s", stream=sys.stdout)
logger = logging.getLogger("bnn")


@dataclass
class Config:
    hidden: int = 16
    lr: float = 0.02
    epochs: int = 3
    batch_size: int = 16
    prior_pi: float = 0.5
    sigmas: Tuple[float, float] = (1.0, math.exp(-6))
    layers: List[int] = field(default_factory=lambda: [1, 16, 1])
    note: Optional[str] = None


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--hidden", type=int, default=16, metavar="H")
    parser.add_argument("--no-compile", action="store_true")
    return parser.parse_args([])


class Gaussian(object):
    def __init__(self, mu, rho):
        super().__init__()
        self.mu, self.rho = mu, rho
        self.normal = torch.distributions.Normal(0, 1)

    @property
    def sigma(self):
        return torch.log1p(torch.exp(self.rho))

    def sample(self):
        epsilon = self.normal.sample(self.rho.size())
        return self.mu + self.sigma * epsilon

    def log_prob(self, input):
        return (-math.log(math.sqrt(2 * math.pi)) - torch.log(self.sigma) - ((input - self.mu) ** 2) / (2 * self.sigma ** 2)).sum()


class ScaleMixtureGaussian(object):
    def __init__(self, pi, sigma1, sigma2):
        self.pi = pi
        self.gaussian1 = torch.distributions.Normal(0, sigma1)
        self.gaussian2 = torch.distributions.Normal(0, sigma2)

    def log_prob(self, input):
        prob1 = torch.exp(self.gaussian1.log_prob(input))
        prob2 = torch.exp(self.gaussian2.log_prob(input))
        return (torch.log(self.pi * prob1 + (1 - self.pi) * prob2)).sum()


class BayesianLinear(nn.Module):
    def __init__(self, in_features, out_features, cfg):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight_mu = nn.Parameter(torch.empty(out_features, in_features).uniform_(-0.2, 0.2))
        self.weight_rho = nn.Parameter(torch.empty(out_features, in_features).uniform_(-5, -4))
        self.weight = Gaussian(self.weight_mu, self.weight_rho)
        self.bias_mu = nn.Parameter(torch.empty(out_features).uniform_(-0.2, 0.2))
        self.bias_rho = nn.Parameter(torch.empty(out_features).uniform_(-5, -4))
        self.bias = Gaussian(self.bias_mu, self.bias_rho)
        self.weight_prior = ScaleMixtureGaussian(cfg.prior_pi, *cfg.sigmas)
        self.log_prior = self.log_variational_posterior = 0

    def forward(self, input, sample=False, calculate_log_probs=False):
        if self.training or sample:
            weight, bias = self.weight.sample(), self.bias.sample()
        else:
            weight, bias = self.weight.mu, self.bias.mu
        if self.training or calculate_log_probs:
            self.log_prior = self.weight_prior.log_prob(weight) + self.weight_prior.log_prob(bias)
            self.log_variational_posterior = self.weight.log_prob(weight) + self.bias.log_prob(bias)
        else:
            self.log_prior, self.log_variational_posterior = 0, 0
        return F.linear(input, weight, bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}"


class BayesianNetwork(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.layers = nn.ModuleList([BayesianLinear(i, o, cfg) for i, o in zip(cfg.layers[:-1], cfg.layers[1:])])

    def forward(self, x, sample=False):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x, sample))
        return self.layers[-1](x, sample)

    def sample_elbo(self, input, target, num_batches, samples=2):
        outputs = torch.zeros(samples, input.shape[0], 1)
        log_priors, log_posts = torch.zeros(samples), torch.zeros(samples)
        for i in range(samples):
            outputs[i] = self(input, sample=True)
            log_priors[i] = sum(l.log_prior for l in self.layers)
            log_posts[i] = sum(l.log_variational_posterior for l in self.layers)
        nll = F.mse_loss(outputs.mean(0), target, reduction="sum") / 0.02
        return (log_posts.mean() - log_priors.mean()) / num_batches + nll, nll


def main():
    args = parse_args()
    torch.manual_seed(0)
    cfg = Config(hidden=args.hidden, lr=args.lr, epochs=args.epochs)
    logger.info("config: %s", asdict(cfg))
    x = torch.linspace(-2, 2, 80).unsqueeze(1)
    y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)
    train, val = random_split(TensorDataset(x, y), [64, 16], generator=torch.Generator().manual_seed(1))
    loader = DataLoader(train, batch_size=cfg.batch_size, shuffle=True, drop_last=True)
    net = BayesianNetwork(cfg)
    logger.info(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        total = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            loss, nll = net.sample_elbo(xb, yb, len(loader))
            loss.backward()
            optimizer.step()
            total += loss.item()
        logger.info("epoch %d/%d elbo=%.3f nll=%.3f", epoch + 1, cfg.epochs, total / len(loader), nll.item())
    net.eval()
    vx = torch.stack([val[i][0] for i in range(len(val))])
    with torch.no_grad():
        preds = torch.stack([net(vx, sample=True) for _ in range(5)])
    print("posterior predictive", preds.mean(0)[:3].flatten(), preds.std(0).mean())
    q, p = Normal(net.layers[0].weight_mu, net.layers[0].weight.sigma), Normal(0.0, 1.0)
    print(f"KL to unit prior: {kl_divergence(q, p).sum().item():.4f}, entropy {q.entropy().mean().item():.4f}")

    class MLP(nn.Module):
        def __init__(self, p=0.2):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(1, cfg.hidden), nn.Tanh(), nn.Dropout(p), nn.Linear(cfg.hidden, 1))

        def forward(self, x):
            return self.net(x)

    models = [MLP(0.0) for _ in range(4)]
    params, buffers = stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")

    def loss_fn(p, b, xb, yb):
        return F.mse_loss(functional_call(base, (p, b), (xb,)), yb)

    params = {k: v.detach() for k, v in params.items()}
    for step in range(20):
        g = vmap(grad(loss_fn), in_dims=(0, 0, None, None))(params, buffers, x, y)
        params = {k: v - 0.1 * g[k] for k, v in params.items()}
    losses = vmap(loss_fn, in_dims=(0, 0, None, None))(params, buffers, x, y)
    print("ensemble losses:", [f"{l:.4f}" for l in losses])
    print({k: tuple(v.shape) for k, v in params.items()})

    mc = MLP(0.2)
    step_fn = torch.compile(lambda xb, yb: F.mse_loss(mc(xb), yb))
    opt = torch.optim.SGD(mc.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    for step in range(6):
        opt.zero_grad()
        loss = step_fn(x, y)
        loss.backward()
        opt.step()
    print(f"mc dropout loss {loss:.4f}")


if __name__ == "__main__":
    main()
