"""Classical statistics in tensors: a Gaussian process, HMC, a Kalman filter, PCA, k-means, Mandelbrot, Life."""
import math
import torch
import torch.nn.functional as F
from torch.distributions import MultivariateNormal

torch.manual_seed(0)
torch.set_printoptions(precision=3, sci_mode=False)


class GP(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.log_ls = torch.nn.Parameter(torch.zeros(()))
        self.log_var = torch.nn.Parameter(torch.zeros(()))
        self.log_noise = torch.nn.Parameter(torch.tensor(-2.0))

    def kernel(self, a, b):
        d2 = (a.unsqueeze(1) - b.unsqueeze(0)).pow(2).sum(-1)
        return self.log_var.exp() * torch.exp(-0.5 * d2 / self.log_ls.exp() ** 2)

    def nll(self, X, y):
        K = self.kernel(X, X) + self.log_noise.exp() * torch.eye(len(X))
        L = torch.linalg.cholesky(K)
        alpha = torch.cholesky_solve(y.unsqueeze(1), L)
        return 0.5 * y @ alpha.squeeze() + L.diagonal().log().sum() + 0.5 * len(X) * math.log(2 * math.pi)

    @torch.no_grad()
    def predict(self, X, y, Xs):
        K = self.kernel(X, X) + self.log_noise.exp() * torch.eye(len(X))
        Ks = self.kernel(X, Xs)
        L = torch.linalg.cholesky(K)
        mu = Ks.t() @ torch.cholesky_solve(y.unsqueeze(1), L)
        v = torch.linalg.solve_triangular(L, Ks, upper=False)
        return mu.squeeze(), self.kernel(Xs, Xs).diagonal() - (v**2).sum(0)


gp = GP()
X = torch.linspace(0, 5, 8).unsqueeze(1)
y = torch.sin(X).squeeze()
opt = torch.optim.Adam(gp.parameters(), lr=0.1)
nll = torch.compile(gp.nll)
for i in range(5):
    opt.zero_grad()
    loss = nll(X, y)
    loss.backward()
    opt.step()
print(f"gp nll {loss.item():.3f}", [f"{n}={p.item():.3f}" for n, p in gp.named_parameters()])
mu, var = gp.predict(X, y, torch.tensor([[1.25], [6.0]]))
print("gp mean", mu, "var", var)

target = MultivariateNormal(torch.zeros(2), torch.tensor([[1.0, 0.6], [0.6, 1.0]]))


def potential(q):
    return -target.log_prob(q)


def leapfrog(q, p, eps, steps):
    q = q.clone().requires_grad_(True)
    for _ in range(steps):
        g, = torch.autograd.grad(potential(q).sum(), q)
        p = p - 0.5 * eps * g
        q = (q + eps * p).detach().requires_grad_(True)
        g, = torch.autograd.grad(potential(q).sum(), q)
        p = p - 0.5 * eps * g
    return q.detach(), p


q = torch.zeros(2)
accepted = 0
samples = []
for i in range(10):
    p = torch.randn(2)
    q_new, p_new = leapfrog(q, p, 0.2, 5)
    dH = potential(q_new) + 0.5 * p_new @ p_new - potential(q) - 0.5 * p @ p
    if torch.rand(()) < torch.exp(-dH):
        q, accepted = q_new, accepted + 1
    samples.append(q)
print("hmc", accepted, torch.stack(samples).mean(0))


@torch.compile
def kalman_step(x, P, z, A, H, Q, R):
    x = A @ x
    P = A @ P @ A.mT + Q
    S = H @ P @ H.mT + R
    K = P @ H.mT @ torch.linalg.inv(S)
    x = x + K @ (z - H @ x)
    P = (torch.eye(2) - K @ H) @ P
    return x, P


A = torch.tensor([[1.0, 0.1], [0.0, 1.0]])
H = torch.tensor([[1.0, 0.0]])
Q, R = 1e-3 * torch.eye(2), torch.tensor([[0.05]])
x, P = torch.zeros(2, 1), torch.eye(2)
for t in range(5):
    z = torch.tensor([[0.1 * t]]) + 0.05 * torch.randn(1, 1)
    x, P = kalman_step(x, P, z, A, H, Q, R)
print("kalman", x.flatten(), P.diagonal())

data = torch.randn(30, 4) @ torch.diag(torch.tensor([3.0, 1.0, 0.3, 0.1]))
centered = data - data.mean(0, keepdim=True)
U, S, Vh = torch.linalg.svd(centered, full_matrices=False)
explained = S**2 / (S**2).sum()
print("pca", explained, (centered @ Vh[:2].T).std(0))
evals, evecs = torch.linalg.eigh(torch.cov(centered.T))
print("eigh agrees", torch.allclose(evals.flip(0), S**2 / 29, rtol=1e-4))


@torch.compile
def assign(x, c):
    d = torch.cdist(x, c)
    return d.argmin(1), d.min(1).values.sum()


pts = torch.cat([torch.randn(10, 2) + 4, torch.randn(10, 2) - 4])
centroids = pts[[0, 10]].clone()
for it in range(3):
    lab, inertia = assign(pts, centroids)
    centroids = torch.stack([pts[lab == k].mean(0) for k in range(2)])
print("kmeans", lab.bincount().tolist(), f"{inertia:.3f}")


@torch.compile
def mandelbrot_step(z, c, n):
    z = z * z + c
    diverged = z.abs() > 4
    n = n + (~diverged).to(n.dtype)
    return torch.where(diverged, torch.zeros_like(z), z), n


re = torch.linspace(-2, 0.5, 24)
im = torch.linspace(-1, 1, 9)
c = torch.complex(re.expand(9, 24), im.unsqueeze(1).expand(9, 24).contiguous())
z, n = torch.zeros_like(c), torch.zeros(9, 24)
for _ in range(8):
    z, n = mandelbrot_step(z, c, n)
for row in n:
    print("".join(" .:-=+*#%@"[int(v)] for v in row.tolist()))

board = torch.zeros(1, 1, 6, 6)
board[0, 0, 1, 2] = board[0, 0, 2, 3] = 1
board[0, 0, 3, 1:4] = 1
kernel = torch.ones(1, 1, 3, 3)
kernel[0, 0, 1, 1] = 0


@torch.compile
def life(b):
    neighbours = F.conv2d(F.pad(b, (1, 1, 1, 1), mode="circular"), kernel)
    return ((neighbours == 3) | ((b == 1) & (neighbours == 2))).float()


for _ in range(4):
    board = life(board)
print("\n".join("".join("#" if v else "." for v in row) for row in board[0, 0].int().tolist()))
