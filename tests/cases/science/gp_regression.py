"""Exact and sparse Gaussian process regression with learned kernels, conjugate gradients and Laplace approximation."""
import math
import abc
import torch
from torch import nn, Tensor
from torch.distributions import MultivariateNormal, Normal, kl_divergence

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)


class Kernel(nn.Module, abc.ABC):
    def __init__(self, lengthscale=1.0, variance=1.0):
        super().__init__()
        self.raw_lengthscale = nn.Parameter(torch.tensor(lengthscale).log())
        self.raw_variance = nn.Parameter(torch.tensor(variance).log())

    @property
    def lengthscale(self):
        return self.raw_lengthscale.exp()

    @property
    def variance(self):
        return self.raw_variance.exp()

    @abc.abstractmethod
    def forward(self, x: Tensor, y: Tensor) -> Tensor: ...

    def __add__(self, other: "Kernel") -> "Kernel":
        return SumKernel(self, other)

    def __mul__(self, other):
        return ProductKernel(self, other)

    def extra_repr(self):
        return f"l={self.lengthscale.item():.3f}, s={self.variance.item():.3f}"


class RBF(Kernel):
    def forward(self, x, y):
        d = torch.cdist(x / self.lengthscale, y / self.lengthscale, compute_mode="donot_use_mm_for_euclid_dist")
        return self.variance * torch.exp(-0.5 * d.square())


class Matern32(Kernel):
    def forward(self, x, y):
        d2 = (x[:, None] - y[None]).div(self.lengthscale).square().sum(-1)
        r = math.sqrt(3) * (d2 + 1e-12).sqrt()
        return self.variance * (1 + r) * torch.exp(-r)


class Periodic(Kernel):
    def __init__(self, period=1.0, **kw):
        super().__init__(**kw)
        self.period = nn.Parameter(torch.tensor(period))

    def forward(self, x, y):
        d = (x[:, None, 0] - y[None, :, 0]).abs()
        return self.variance * torch.exp(-2 * torch.sin(math.pi * d / self.period) ** 2 / self.lengthscale**2)


class SumKernel(nn.Module):
    def __init__(self, *ks):
        super().__init__()
        self.ks = nn.ModuleList(ks)

    def forward(self, x, y):
        return sum(k(x, y) for k in self.ks)


class ProductKernel(SumKernel):
    def forward(self, x, y):
        out = self.ks[0](x, y)
        for k in self.ks[1:]:
            out = out * k(x, y)
        return out


class ExactGP(nn.Module):
    def __init__(self, kernel, noise=0.1):
        super().__init__()
        self.kernel = kernel
        self.log_noise = nn.Parameter(torch.tensor(noise).log())

    def forward(self, x, y):
        K = self.kernel(x, x) + self.log_noise.exp() * torch.eye(x.size(0))
        L = torch.linalg.cholesky(K)
        alpha = torch.cholesky_solve(y.unsqueeze(-1), L)
        return 0.5 * (y @ alpha.squeeze(-1)) + L.diagonal().log().sum() + 0.5 * len(y) * math.log(2 * math.pi)

    @torch.no_grad()
    def predict(self, x, y, xs):
        K = self.kernel(x, x) + self.log_noise.exp() * torch.eye(x.size(0))
        Ks, Kss = self.kernel(x, xs), self.kernel(xs, xs)
        L, info = torch.linalg.cholesky_ex(K)
        assert info == 0
        v = torch.linalg.solve_triangular(L, Ks, upper=False)
        mean = Ks.T @ torch.cholesky_solve(y[:, None], L)
        return mean.squeeze(1), (Kss - v.T @ v).diagonal().clamp_min(1e-10)


class SVGP(nn.Module):
    def __init__(self, kernel, z):
        super().__init__()
        self.kernel, self.z = kernel, nn.Parameter(z.clone())
        m = len(z)
        self.q_mu = nn.Parameter(torch.zeros(m))
        self.q_sqrt = nn.Parameter(torch.eye(m))
        self.log_noise = nn.Parameter(torch.tensor(-2.0))

    def forward(self, x, y):
        Kzz = self.kernel(self.z, self.z) + 1e-6 * torch.eye(len(self.z))
        L = torch.linalg.cholesky(Kzz)
        A = torch.linalg.solve_triangular(L, self.kernel(self.z, x), upper=False)
        S = self.q_sqrt.tril()
        mean = A.T @ self.q_mu
        var = self.kernel(x, x).diagonal() - A.pow(2).sum(0) + (S.T @ A).pow(2).sum(0)
        noise = self.log_noise.exp()
        ell = -0.5 * (math.log(2 * math.pi) + self.log_noise + ((y - mean) ** 2 + var) / noise)
        kl = 0.5 * (S.pow(2).sum() + self.q_mu.pow(2).sum() - len(self.z)) - S.diagonal().abs().log().sum()
        return kl - ell.sum()


def conjugate_gradient(A, b, iters=10, tol=1e-10):
    x = torch.zeros_like(b)
    r = b - A(x)
    p, rs = r.clone(), r.dot(r)
    for i in range(iters):
        Ap = A(p)
        a = rs / p.dot(Ap)
        x = x + a * p
        r = r - a * Ap
        new = r.dot(r)
        if new.sqrt() < tol:
            break
        p = r + new / rs * p
        rs = new
    return x, i + 1


x = torch.linspace(0, 3, 12).unsqueeze(-1)
y = torch.sin(2 * x.squeeze()) + 0.1 * torch.randn(12)
xs = torch.tensor([[0.5], [1.5], [2.75]])
for name, kernel in {"rbf": RBF(), "matern": Matern32(0.7), "sum": RBF(0.5) + Periodic(2.0), "prod": RBF(2.0) * Matern32()}.items():
    gp = ExactGP(kernel)
    nll = torch.compile(gp, backend="aot_eager")
    opt = torch.optim.Adam(gp.parameters(), lr=0.05)
    for _ in range(3):
        opt.zero_grad()
        loss = nll(x, y)
        loss.backward()
        opt.step()
    mean, var = gp.predict(x, y, xs)
    print(f"{name}: {loss.item():.6f}", [f"{m:.4f}±{s:.4f}" for m, s in zip(mean.tolist(), var.sqrt().tolist())])
print(gp)
svgp = SVGP(RBF(), x[::3])
elbo = torch.compile(svgp)
opt = torch.optim.LBFGS(svgp.parameters(), lr=0.1, max_iter=3)


def closure():
    opt.zero_grad()
    loss = elbo(x, y)
    loss.backward()
    return loss


for _ in range(2):
    print(f"svgp {opt.step(closure).item():.6f}")
K = RBF()(x, x).detach() + 0.5 * torch.eye(12)
sol, n = conjugate_gradient(lambda v: K @ v, y)
print(n, f"{(K @ sol - y).norm().item() < 1e-6}")
q, p = MultivariateNormal(torch.zeros(2), torch.tensor([[1.0, 0.3], [0.3, 2.0]])), MultivariateNormal(torch.ones(2), torch.eye(2))
print(f"{kl_divergence(q, p).item():.6f} {q.log_prob(torch.ones(2)).item():.6f}", q)
f = lambda w: 0.5 * w.dot(w) + torch.log1p(torch.exp(-w.sum()))
w = torch.tensor([0.3, -0.2])
H = torch.autograd.functional.hessian(f, w)
print(H, torch.linalg.slogdet(H), torch.linalg.eigvalsh(H))
