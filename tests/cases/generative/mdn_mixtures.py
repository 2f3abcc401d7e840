"""A mixture density network, a Gaussian mixture by EM, and heteroscedastic regression, with torch.distributions."""
import math

import torch
import torch.nn as nn
from torch.distributions import (Bernoulli, Categorical, Dirichlet, Gamma, Independent, Laplace, LogNormal, MixtureSameFamily,
                                 MultivariateNormal, Normal, OneHotCategorical, Poisson, StudentT, TransformedDistribution, Uniform, kl_divergence)
from torch.distributions.transforms import AffineTransform, SigmoidTransform

torch.manual_seed(0)


class MixtureDensityNetwork(nn.Module):
    def __init__(self, dim_in, dim_out, n_components, hidden_dim=16):
        super().__init__()
        self.pi_network = CategoricalNetwork(dim_in, n_components, hidden_dim)
        self.normal_network = NormalNetwork(dim_in, dim_out, n_components, hidden_dim)

    def forward(self, x):
        return self.pi_network(x), self.normal_network(x)

    def loss(self, x, y):
        pi, normal = self.forward(x)
        loglik = normal.log_prob(y.unsqueeze(1).expand_as(normal.loc))
        loglik = torch.sum(loglik, dim=2)
        return -torch.logsumexp(torch.log(pi.probs) + loglik, dim=1)

    def sample(self, x):
        pi, normal = self.forward(x)
        return torch.sum(pi.sample().unsqueeze(2) * normal.sample(), dim=1)


class NormalNetwork(nn.Module):
    def __init__(self, in_dim, out_dim, n_components, hidden_dim):
        super().__init__()
        self.n_components = n_components
        self.network = nn.Sequential(nn.Linear(in_dim, hidden_dim), nn.ELU(), nn.Linear(hidden_dim, 2 * out_dim * n_components))

    def forward(self, x):
        params = self.network(x)
        mean, sd = torch.split(params, params.shape[1] // 2, dim=1)
        mean = torch.stack(mean.split(mean.shape[1] // self.n_components, 1))
        sd = torch.stack(sd.split(sd.shape[1] // self.n_components, 1))
        return Normal(mean.transpose(0, 1), torch.exp(sd).transpose(0, 1))


class CategoricalNetwork(nn.Module):
    def __init__(self, in_dim, out_dim, hidden_dim):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(in_dim, hidden_dim), nn.ELU(), nn.Linear(hidden_dim, out_dim))

    def forward(self, x):
        return OneHotCategorical(logits=self.network(x))


x = torch.linspace(-2, 2, 24).unsqueeze(1)
y = x.sin() * 2 + 0.1 * torch.randn_like(x) + (torch.rand_like(x) > 0.5).float()
model = MixtureDensityNetwork(1, 1, n_components=3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


@torch.compile
def mdn_loss(x, y):
    return model.loss(x, y).mean()


for i in range(4):
    optimizer.zero_grad()
    loss = mdn_loss(x, y)
    loss.backward()
    optimizer.step()
    print(f"Iter: {i}\t" + f"Loss: {loss.data:.4f}")
print(model.sample(x[:4]).shape, model(x[:2])[0], model(x[:2])[1])

K, D = 3, 2
mix = MixtureSameFamily(Categorical(torch.tensor([0.5, 0.3, 0.2])), Independent(Normal(torch.randn(K, D), torch.rand(K, D) + 0.2), 1))
print(mix)
data = mix.sample((40,))
print(f"{mix.log_prob(data).mean():.4f}", mix.mean, mix.variance)


def em(data, k, iters=4):
    n, d = data.shape
    mu = data[torch.randperm(n)[:k]].clone()
    cov = torch.eye(d).repeat(k, 1, 1)
    pi = torch.full((k,), 1 / k)
    for _ in range(iters):
        log_p = MultivariateNormal(mu, covariance_matrix=cov).log_prob(data[:, None]) + pi.log()
        resp = torch.softmax(log_p, 1)
        nk = resp.sum(0)
        mu = resp.T @ data / nk[:, None]
        diff = data[:, None] - mu
        cov = torch.einsum("nk,nki,nkj->kij", resp, diff, diff) / nk[:, None, None] + 1e-3 * torch.eye(d)
        pi = nk / n
        print(f"log-likelihood {torch.logsumexp(log_p, 1).mean():.4f}")
    return pi, mu


pi, mu = em(data, K)
print(pi, mu)


class Heteroscedastic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 2))

    def forward(self, x):
        mean, raw = self.net(x).chunk(2, -1)
        return mean, nn.functional.softplus(raw) + 1e-3


het = Heteroscedastic()
gnll = nn.GaussianNLLLoss()
net = torch.compile(het)
mean, var = net(x)
l1 = gnll(mean, y, var)
l2 = -Normal(mean, var.sqrt()).log_prob(y).mean()
l1.backward()
print(f"{l1.item():.4f} {l2.item() - 0.5 * math.log(2 * math.pi):.4f}")
for name, d in {"gamma": Gamma(2.0, 1.5), "dirichlet": Dirichlet(torch.tensor([1.0, 2.0, 3.0])), "student": StudentT(5.0), "laplace": Laplace(0.0, 2.0),
                "lognormal": LogNormal(0.0, 0.5), "poisson": Poisson(3.0), "bernoulli": Bernoulli(0.3), "uniform": Uniform(-1.0, 3.0)}.items():
    s = d.sample()
    print(name, d, s.shape, f"{d.mean.sum():.4f} {d.variance.sum():.4f} {d.log_prob(s).sum():.3f}")
print(f"{kl_divergence(Normal(0.0, 1.0), Normal(1.0, 2.0)):.4f} {kl_divergence(Gamma(2.0, 1.0), Gamma(3.0, 1.0)):.4f} {kl_divergence(Dirichlet(torch.ones(3)), Dirichlet(torch.tensor([1., 2., 3.]))):.4f}")
logistic = TransformedDistribution(Uniform(0.0, 1.0), [SigmoidTransform().inv, AffineTransform(loc=1.0, scale=2.0)])
print(logistic.sample((3,)), f"{logistic.log_prob(torch.tensor(1.5)):.4f}")
try:
    Normal(0.0, -1.0)
except ValueError as e:
    print(str(e).splitlines()[0])
