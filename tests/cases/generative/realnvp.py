import torch
from torch import nn
from torch import distributions
from torch.nn.parameter import Parameter


class RealNVP(nn.Module):
    def __init__(self, nets, nett, mask, prior):
        super(RealNVP, self).__init__()
        self.prior = prior
        self.mask = nn.Parameter(mask, requires_grad=False)
        self.t = torch.nn.ModuleList([nett() for _ in range(len(mask))])
        self.s = torch.nn.ModuleList([nets() for _ in range(len(mask))])

    def g(self, z):
        x = z
        for i in range(len(self.t)):
            x_ = x * self.mask[i]
            s = self.s[i](x_) * (1 - self.mask[i])
            t = self.t[i](x_) * (1 - self.mask[i])
            x = x_ + (1 - self.mask[i]) * (x * torch.exp(s) + t)
        return x

    def f(self, x):
        log_det_J, z = x.new_zeros(x.shape[0]), x
        for i in reversed(range(len(self.t))):
            z_ = self.mask[i] * z
            s = self.s[i](z_) * (1 - self.mask[i])
            t = self.t[i](z_) * (1 - self.mask[i])
            z = (1 - self.mask[i]) * (z - t) * torch.exp(-s) + z_
            log_det_J -= s.sum(dim=1)
        return z, log_det_J

    def log_prob(self, x):
        z, logp = self.f(x)
        return self.prior.log_prob(z) + logp

    def sample(self, batchSize):
        z = self.prior.sample((batchSize, 1))
        x = self.g(z)
        return x


class PlanarFlow(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = Parameter(torch.Tensor(1, dim))
        self.bias = Parameter(torch.Tensor(1))
        self.scale = Parameter(torch.Tensor(1, dim))
        self.tanh = nn.Tanh()
        self.reset_parameters()

    def reset_parameters(self):
        self.weight.data.uniform_(-0.5, 0.5)
        self.scale.data.uniform_(-0.5, 0.5)
        self.bias.data.uniform_(-0.5, 0.5)

    def forward(self, z):
        activation = nn.functional.linear(z, self.weight, self.bias)
        f_z = z + self.scale * self.tanh(activation)
        psi = (1 - self.tanh(activation) ** 2) * self.weight
        det_grad = 1 + torch.mm(psi, self.scale.t())
        return f_z, torch.log(det_grad.abs() + 1e-7)


def make_moons(n):
    t = torch.rand(n) * torch.pi
    upper = torch.stack([t[: n // 2].cos(), t[: n // 2].sin()], 1)
    lower = torch.stack([1 - t[n // 2:].cos(), 0.5 - t[n // 2:].sin()], 1)
    return torch.cat([upper, lower]) + 0.05 * torch.randn(n, 2)


torch.manual_seed(3)
nets = lambda: nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 16), nn.LeakyReLU(), nn.Linear(16, 2), nn.Tanh())
nett = lambda: nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 16), nn.LeakyReLU(), nn.Linear(16, 2))
masks = torch.tensor([[0, 1], [1, 0]] * 2, dtype=torch.float32)
prior = distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
flow = RealNVP(nets, nett, masks, prior)
flow.f = torch.compile(flow.f)

optimizer = torch.optim.Adam([p for p in flow.parameters() if p.requires_grad == True], lr=1e-3)
for t in range(5):
    noisy_moons = make_moons(32)
    loss = -flow.log_prob(noisy_moons).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    print("iter %s:" % t, "loss = %.3f" % loss)

x = make_moons(6)
with torch.no_grad():
    z, _ = flow.f(x)
    print("inverse error small:", bool((flow.g(z) - x).abs().max() < 1e-5))
    print(flow.sample(3).shape)

planar = nn.ModuleList(PlanarFlow(2) for _ in range(3))
base = distributions.Normal(torch.zeros(2), torch.ones(2))


@torch.compile
def elbo(z):
    total = 0
    for layer in planar:
        z, ld = layer(z)
        total = total + ld
    energy = 0.5 * ((torch.norm(z, dim=1) - 2) / 0.4) ** 2
    return (energy - total.squeeze()).mean()


opt = torch.optim.RMSprop(planar.parameters(), lr=0.01)
for i in range(3):
    z0 = base.sample((16,))
    loss = elbo(z0)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"planar {i}: {loss.item():.4f}")
