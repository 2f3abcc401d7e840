"""Neural cellular automata with a sample pool, and OpenAI-style evolution strategies with vmap over a population."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, vmap


class CAModel(nn.Module):
    def __init__(self, channel_n=6, hidden=8, fire_rate=0.5):
        super().__init__()
        self.channel_n = channel_n
        ident = torch.tensor([[0.0, 0, 0], [0, 1, 0], [0, 0, 0]])
        dx = torch.outer(torch.tensor([1.0, 2, 1]), torch.tensor([-1.0, 0, 1])) / 8
        kernel = torch.stack([ident, dx, dx.T]).repeat(channel_n, 1, 1)[:, None]
        self.register_buffer("kernel", kernel)
        self.fc0 = nn.Conv2d(channel_n * 3, hidden, 1)
        self.fc1 = nn.Conv2d(hidden, channel_n, 1, bias=False)
        with torch.no_grad():
            self.fc1.weight.normal_(0, 0.02)
        self.fire_rate = fire_rate

    def alive(self, x):
        return F.max_pool2d(x[:, 3:4], kernel_size=3, stride=1, padding=1) > 0.1

    def update(self, x, angle=0.0):
        pre = self.alive(x)
        y = F.conv2d(F.pad(x, (1, 1, 1, 1), mode="circular"), self.kernel, groups=self.channel_n)
        dx = self.fc1(F.relu(self.fc0(y)))
        mask = (torch.rand_like(x[:, :1]) <= self.fire_rate).float()
        x = x + dx * mask
        return x * (pre & self.alive(x)).float()

    def forward(self, x, steps=1):
        for _ in range(steps):
            x = self.update(x)
        return x


def make_seed(size, n, channels=6):
    x = torch.zeros(n, channels, size, size)
    x[:, 3:, size // 2, size // 2] = 1.0
    return x


torch.manual_seed(0)
size = 7
yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
disc = (((yy - 3) ** 2 + (xx - 3) ** 2) <= 5).float()
target = torch.stack([disc, 1 - disc, disc * 0.5, disc])
ca = CAModel()
cca = torch.compile(ca)
pool = make_seed(size, 6)
opt = torch.optim.Adam(ca.parameters(), lr=2e-2, betas=(0.5, 0.5))
for it in range(3):
    idx = torch.randperm(len(pool))[:3]
    batch = pool[idx]
    with torch.no_grad():
        rank = (batch[:, :4] - target).pow(2).mean((1, 2, 3)).argsort(descending=True)
        batch, idx = batch[rank], idx[rank]
        batch[:1] = make_seed(size, 1)
    out = cca(batch, steps=2)
    loss = F.mse_loss(out[:, :4], target.expand(3, -1, -1, -1))
    opt.zero_grad()
    loss.backward()
    for p in ca.parameters():
        p.grad /= p.grad.norm() + 1e-8
    opt.step()
    pool[idx] = out.detach()
    print(f"{it} loss {loss.item():.5f} alive {int(ca.alive(out).sum())}")

policy = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))
theta = {k: v.detach().clone() for k, v in policy.named_parameters()}


def cartpole(params, s0, horizon=6):
    s, total = s0, torch.zeros(())
    for _ in range(horizon):
        force = 10 * torch.tanh(functional_call(policy, params, (s,))).squeeze(-1)
        x, xd, th, thd = s.unbind(-1)
        temp = (force + 0.05 * thd**2 * th.sin()) / 1.1
        thacc = (9.8 * th.sin() - th.cos() * temp) / (0.5 * (4 / 3 - 0.1 * th.cos() ** 2 / 1.1))
        xacc = temp - 0.05 * thacc * th.cos() / 1.1
        s = torch.stack([x + 0.02 * xd, xd + 0.02 * xacc, th + 0.02 * thd, thd + 0.02 * thacc], -1)
        total = total + torch.where(s[2].abs() < 0.2, 1.0 - s[2].pow(2), torch.zeros(()))
    return total


@torch.compile
def es_step(theta, eps, s0, sigma: float = 0.1, lr: float = 0.05):
    cand = {k: torch.cat([v + sigma * eps[k], v - sigma * eps[k]]) for k, v in theta.items()}
    fit = vmap(cartpole, in_dims=(0, None))(cand, s0)
    ranks = torch.empty_like(fit).scatter_(0, fit.argsort(), torch.linspace(-0.5, 0.5, fit.numel()))
    n = fit.numel() // 2
    w = ranks[:n] - ranks[n:]
    grad = {k: torch.einsum("n,n...->...", w, e) / (2 * n * sigma) for k, e in eps.items()}
    return {k: theta[k] + lr * grad[k] for k in theta}, fit


s0 = torch.tensor([0.0, 0.1, 0.05, -0.1])
for gen in range(3):
    eps = {k: torch.randn(4, *v.shape) for k, v in theta.items()}
    theta, fit = es_step(theta, eps, s0)
    print(gen, f"best {fit.max():.5f} mean {fit.mean():.5f}", {k: round(v.norm().item(), 4) for k, v in theta.items()})
