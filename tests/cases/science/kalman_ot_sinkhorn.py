"""Optimal transport and filtering: log-domain Sinkhorn, Gromov cost, particle filter, extended and plain Kalman filters."""
import math
import torch
import torch.nn as nn

torch.set_printoptions(precision=4, sci_mode=False)
torch.manual_seed(0)


class SinkhornDistance(nn.Module):
    r"""Given two empirical measures, the regularized optimal transport cost between them."""

    def __init__(self, eps, max_iter, reduction="none"):
        super(SinkhornDistance, self).__init__()
        self.eps = eps
        self.max_iter = max_iter
        self.reduction = reduction

    def forward(self, x, y):
        C = self._cost_matrix(x, y)
        x_points, y_points = x.shape[-2], y.shape[-2]
        batch_size = 1 if x.dim() == 2 else x.shape[0]
        mu = torch.empty(batch_size, x_points, dtype=torch.float, requires_grad=False).fill_(1.0 / x_points).squeeze()
        nu = torch.empty(batch_size, y_points, dtype=torch.float, requires_grad=False).fill_(1.0 / y_points).squeeze()
        u, v = torch.zeros_like(mu), torch.zeros_like(nu)
        actual_nits = 0
        thresh = 1e-1
        for i in range(self.max_iter):
            u1 = u
            u = self.eps * (torch.log(mu + 1e-8) - torch.logsumexp(self.M(C, u, v), dim=-1)) + u
            v = self.eps * (torch.log(nu + 1e-8) - torch.logsumexp(self.M(C, u, v).transpose(-2, -1), dim=-1)) + v
            err = (u - u1).abs().sum(-1).mean()
            actual_nits += 1
            if err.item() < thresh:
                break
        pi = torch.exp(self.M(C, u, v))
        cost = torch.sum(pi * C, dim=(-2, -1))
        if self.reduction == "mean":
            cost = cost.mean()
        return cost, pi, C

    def M(self, C, u, v):
        return (-C + u.unsqueeze(-1) + v.unsqueeze(-2)) / self.eps

    @staticmethod
    def _cost_matrix(x, y, p=2):
        return torch.sum((torch.abs(x.unsqueeze(-2) - y.unsqueeze(-3))) ** p, -1)


@torch.compile(fullgraph=True)
def sinkhorn_loss(x, y, eps: float = 0.2, iters: int = 5):
    n, m = x.shape[0], y.shape[0]
    C = torch.cdist(x, y) ** 2
    log_a, log_b = -math.log(n), -math.log(m)
    f, g = torch.zeros(n), torch.zeros(m)
    for _ in range(iters):
        f = -eps * torch.logsumexp((g[None] - C) / eps + log_b, dim=1)
        g = -eps * torch.logsumexp((f[:, None] - C) / eps + log_a, dim=0)
    P = torch.exp((f[:, None] + g[None] - C) / eps + log_a + log_b)
    return (P * C).sum(), P


sink = SinkhornDistance(eps=0.1, max_iter=20, reduction="mean")
a = torch.randn(5, 2)
b = torch.randn(6, 2) + 1
cost, pi, C = sink(a, b)
print(f"cost {cost.item():.4f}", pi.sum().item() > 0.9)
pos = a.clone().requires_grad_()
opt = torch.optim.SGD([pos], lr=0.3)
for i in range(4):
    loss, P = sinkhorn_loss(pos, b)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, f"{loss.item():.5f}", P.sum(1)[:3])


class KalmanFilter(nn.Module):
    def __init__(self, dt=0.1):
        super().__init__()
        self.register_buffer("A", torch.tensor([[1.0, dt], [0.0, 1.0]]))
        self.register_buffer("H", torch.tensor([[1.0, 0.0]]))
        self.log_q = nn.Parameter(torch.tensor(-2.0))
        self.log_r = nn.Parameter(torch.tensor(-1.0))

    def forward(self, zs):
        Q, R = torch.eye(2) * self.log_q.exp(), torch.eye(1) * self.log_r.exp()
        x, P = torch.zeros(2, 1), torch.eye(2)
        nll, xs = 0.0, []
        for z in zs:
            x, P = self.A @ x, self.A @ P @ self.A.T + Q
            y = z.view(1, 1) - self.H @ x
            S = self.H @ P @ self.H.T + R
            K = torch.linalg.solve(S, self.H @ P).T
            x, P = x + K @ y, (torch.eye(2) - K @ self.H) @ P
            nll = nll + 0.5 * (y.T @ torch.linalg.inv(S) @ y + torch.logdet(S) + math.log(2 * math.pi)).squeeze()
            xs.append(x.squeeze(1))
        return nll / len(zs), torch.stack(xs)


t = torch.linspace(0, 1, 8)
obs = torch.sin(3 * t) + 0.1 * torch.randn(8)
kf = KalmanFilter()
step = torch.compile(kf, backend="aot_eager")
opt = torch.optim.Adam(kf.parameters(), lr=0.1)
for i in range(3):
    nll, xs = step(obs)
    opt.zero_grad()
    nll.backward()
    opt.step()
    print(f"nll {nll.item():.5f} q {kf.log_q.exp().item():.4f} r {kf.log_r.exp().item():.4f} last {xs[-1].tolist()[0]:.4f}")


def ekf_step(x, P, z, f, h, Q, R):
    F_ = torch.func.jacrev(f)(x)
    x_pred = f(x)
    P_pred = F_ @ P @ F_.T + Q
    H = torch.func.jacfwd(h)(x_pred)
    S = H @ P_pred @ H.T + R
    K = P_pred @ H.T @ torch.inverse(S)
    x_new = x_pred + K @ (z - h(x_pred))
    return x_new, (torch.eye(x.numel()) - K @ H) @ P_pred


f = lambda s: torch.stack([s[0] + 0.1 * torch.cos(s[2]), s[1] + 0.1 * torch.sin(s[2]), s[2] + 0.05])
h = lambda s: torch.stack([torch.sqrt(s[0] ** 2 + s[1] ** 2), torch.atan2(s[1], s[0])])
x, P = torch.tensor([1.0, 0.5, 0.2]), torch.eye(3) * 0.1
for k in range(3):
    z = h(f(x)) + 0.01 * torch.randn(2)
    x, P = ekf_step(x, P, z, f, h, 0.001 * torch.eye(3), 0.01 * torch.eye(2))
print(x, f"{torch.trace(P).item():.5f}")


def systematic_resample(w):
    n = w.numel()
    positions = (torch.arange(n) + torch.rand(1)) / n
    return torch.searchsorted(torch.cumsum(w, 0).clamp(max=1.0), positions).clamp(max=n - 1)


particles, w = torch.randn(50), torch.full((50,), 1 / 50)
for z in obs[:4]:
    particles = particles + 0.1 * torch.randn(50)
    w = torch.softmax(torch.distributions.Normal(particles, 0.3).log_prob(z) + w.log(), 0)
    ess = 1 / (w**2).sum()
    print(f"est {(w * particles).sum():.4f} ess {ess:.2f}")
    if ess < 25:
        particles, w = particles[systematic_resample(w)], torch.full((50,), 1 / 50)
