"""Toy models of superposition: many instances trained at once."""
from dataclasses import dataclass, field
import torch
from torch import nn
from torch.nn import functional as F
import math
from typing import Callable, Optional, Union


def constant_lr(*_):
    return 1.0


def linear_lr(step, steps):
    return (1 - (step / steps))


def cosine_decay_lr(step, steps):
    return math.cos(0.5 * math.pi * step / (steps - 1))


@dataclass
class Config:
    n_instances: int
    n_features: int = 5
    n_hidden: int = 2
    n_correlated_pairs: int = 0
    n_anticorrelated_pairs: int = 0
    feat_mag_distn: str = field(default="unif")


class Model(nn.Module):
    def __init__(self, config: Config, feature_probability: Optional[Union[float, torch.Tensor]] = None,
                 importance: Optional[Union[float, torch.Tensor]] = None, device='cpu'):
        super().__init__()
        self.cfg = config
        if feature_probability is None:
            feature_probability = torch.ones(())
        if isinstance(feature_probability, float):
            feature_probability = torch.tensor(feature_probability)
        self.feature_probability = feature_probability.to(device).broadcast_to((config.n_instances, config.n_features))
        if importance is None:
            importance = torch.ones(())
        self.importance = importance.to(device).broadcast_to((config.n_instances, config.n_features))
        self.W = nn.Parameter(nn.init.xavier_normal_(torch.empty((config.n_instances, config.n_hidden, config.n_features), device=device)))
        self.b_final = nn.Parameter(torch.zeros((config.n_instances, config.n_features), device=device))

    def forward(self, features):
        hidden = torch.einsum("...if,ihf->...ih", features, self.W)
        out = torch.einsum("...ih,ihf->...if", hidden, self.W)
        return F.relu(out + self.b_final)

    def generate_correlated_features(self, batch_size, n_correlated_pairs):
        feat = torch.rand((batch_size, self.cfg.n_instances, 2 * n_correlated_pairs))
        p = self.feature_probability[:, [0]]
        feat_set_seeds = torch.rand((batch_size, self.cfg.n_instances, n_correlated_pairs))
        feat_set_is_present = feat_set_seeds <= p
        feat_is_present = feat_set_is_present.repeat_interleave(2, dim=-1)
        return torch.where(feat_is_present, feat, 0.0)

    def generate_anticorrelated_features(self, batch_size, n_pairs):
        feat = torch.rand((batch_size, self.cfg.n_instances, 2 * n_pairs))
        p = self.feature_probability[:, [0]]
        assert p.max().item() <= 0.5, "For anticorrelated features, must have 2p < 1"
        present = torch.rand((batch_size, self.cfg.n_instances, n_pairs)) <= 2 * p
        first = torch.rand((batch_size, self.cfg.n_instances, n_pairs)) <= 0.5
        a = torch.where(present & first, feat[..., :n_pairs], 0.0)
        b = torch.where(present & (~first), feat[..., n_pairs:], 0.0)
        return torch.stack((a, b), dim=-1).flatten(-2)

    def generate_batch(self, batch_size):
        n_uncorrelated = self.cfg.n_features - 2 * self.cfg.n_correlated_pairs - 2 * self.cfg.n_anticorrelated_pairs
        data = []
        if self.cfg.n_correlated_pairs > 0:
            data.append(self.generate_correlated_features(batch_size, self.cfg.n_correlated_pairs))
        if self.cfg.n_anticorrelated_pairs > 0:
            data.append(self.generate_anticorrelated_features(batch_size, self.cfg.n_anticorrelated_pairs))
        if n_uncorrelated > 0:
            feat = torch.rand((batch_size, self.cfg.n_instances, n_uncorrelated))
            seeds = torch.rand((batch_size, self.cfg.n_instances, n_uncorrelated))
            data.append(torch.where(seeds <= self.feature_probability[:, :n_uncorrelated], feat, 0.0))
        return torch.cat(data, dim=-1)

    def calculate_loss(self, out, batch):
        error = self.importance * ((batch - out) ** 2)
        return error.mean(dim=(0, 2)).sum()

    def optimize(self, batch_size=16, steps=8, log_freq=2, lr=1e-2, lr_scale: Callable[[int, int], float] = constant_lr):
        optimizer = torch.optim.Adam(list(self.parameters()), lr=lr)
        step_fn = torch.compile(lambda batch: self.calculate_loss(self(batch), batch), backend="aot_eager")
        for step in range(steps):
            step_lr = lr * lr_scale(step, steps)
            for group in optimizer.param_groups:
                group['lr'] = step_lr
            optimizer.zero_grad()
            batch = self.generate_batch(batch_size)
            loss = step_fn(batch)
            loss.backward()
            optimizer.step()
            if step % log_freq == 0 or (step + 1 == steps):
                print(f"step {step}: loss={loss.item() / self.cfg.n_instances:.6f}, lr={step_lr:.5f}")


torch.manual_seed(3)
cfg = Config(n_instances=6, n_features=5, n_hidden=2)
importance = 0.9 ** torch.arange(cfg.n_features)
feature_probability = 50 ** -torch.linspace(0, 1, cfg.n_instances)
print(importance, feature_probability)
model = Model(cfg, importance=importance[None, :], feature_probability=feature_probability[:, None])
model.optimize(lr_scale=cosine_decay_lr)
with torch.no_grad():
    W = model.W
    norms = W.norm(dim=1)
    print((norms > 0.5).sum(-1))
    unit = W / (1e-5 + norms[:, None])
    interference = (torch.einsum("ihf,ihg->ifg", unit, W) ** 2)
    interference[:, torch.arange(5), torch.arange(5)] = 0
    polysemanticity = interference.sum(-1).sqrt()
    print(polysemanticity.shape, polysemanticity.max() > 0)
    print(f"dims per feature {cfg.n_hidden / (W.norm() ** 2 / cfg.n_instances):.4f}")

torch.manual_seed(4)
cfg = Config(n_instances=2, n_features=6, n_hidden=3, n_correlated_pairs=1, n_anticorrelated_pairs=1)
model = Model(cfg, feature_probability=0.25)
b = model.generate_batch(64)
pairs_c, pairs_a = b[..., :2], b[..., 2:4]
print(((pairs_c[..., 0] > 0) == (pairs_c[..., 1] > 0)).all(), ((pairs_a[..., 0] > 0) & (pairs_a[..., 1] > 0)).any())
model.optimize(steps=4, lr_scale=linear_lr)
