"""Hessian-vector products, conjugate gradients, influence functions, K-FAC and a Laplace approximation."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, hessian, jacrev, jvp, grad, vjp, vmap
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def hvp(loss_fn, params, v):
    return jvp(grad(loss_fn), (params,), (v,))[1]


def conjugate_gradient(Avp, b, nsteps=10, residual_tol=1e-8):
    x = torch.zeros_like(b)
    r = b.clone()
    p = b.clone()
    rdotr = torch.dot(r, r)
    for i in range(nsteps):
        Ap = Avp(p)
        alpha = rdotr / torch.dot(p, Ap)
        x += alpha * p
        r -= alpha * Ap
        new_rdotr = torch.dot(r, r)
        beta = new_rdotr / rdotr
        p = r + beta * p
        rdotr = new_rdotr
        if rdotr < residual_tol:
            break
    return x, i + 1


torch.manual_seed(0)
X = torch.randn(20, 3).double()
w_true = torch.tensor([1.5, -2.0, 0.5]).double()
y = (X @ w_true + 0.3 * torch.randn(20).double() > 0).double()


def nll(w):
    return F.binary_cross_entropy_with_logits(X @ w, y) + 0.01 * w.dot(w)


compiled_grad = torch.compile(grad(nll), backend="aot_eager")
w = torch.zeros(3, dtype=torch.float64)
for it in range(5):
    g = compiled_grad(w)
    delta, used = conjugate_gradient(lambda v: hvp(nll, w, v), g)
    w = w - delta
    print(f"newton {it}: loss {nll(w).item():.6f} |g| {g.norm().item():.2e} cg {used}")
H = hessian(nll)(w)
print(H)
print("symmetric", torch.allclose(H, H.T), "spd", bool((torch.linalg.eigvalsh(H) > 0).all()))


def point_loss(w, x, t):
    return F.binary_cross_entropy_with_logits(x @ w, t)


per_sample = vmap(grad(point_loss), in_dims=(None, 0, 0))(w, X, y)
test_g = grad(point_loss)(w, X[0] * 0.5, y[0])
influence = -per_sample @ torch.linalg.solve(H, test_g)
print("most influential", influence.abs().topk(3).indices.tolist(), f"{influence.abs().max().item():.5f}")

chol = torch.linalg.cholesky(torch.linalg.inv(H * 20))
mean = X @ w
var = ((X @ chol) ** 2).sum(-1)
probit = torch.sigmoid(mean / torch.sqrt(1 + math.pi / 8 * var))
print("laplace", probit[:4])


class KFAC(torch.optim.Optimizer):
    def __init__(self, model, lr=0.1, damping=1e-2, alpha=0.9):
        self.model, self.damping, self.alpha = model, damping, alpha
        self.layers = [m for m in model.modules() if isinstance(m, nn.Linear)]
        self.A, self.G = {}, {}
        super().__init__(model.parameters(), dict(lr=lr))
        for m in self.layers:
            m.register_forward_pre_hook(self._save_input)
            m.register_full_backward_hook(self._save_grad)

    def _save_input(self, module, input):
        a = torch.cat([input[0].detach(), torch.ones(len(input[0]), 1)], 1)
        cov = a.t() @ a / len(a)
        self.A[module] = cov if module not in self.A else self.alpha * self.A[module] + (1 - self.alpha) * cov

    def _save_grad(self, module, grad_input, grad_output):
        g = grad_output[0].detach() * len(grad_output[0])
        cov = g.t() @ g / len(g)
        self.G[module] = cov if module not in self.G else self.alpha * self.G[module] + (1 - self.alpha) * cov

    @torch.no_grad()
    def step(self):
        for m in self.layers:
            gW = torch.cat([m.weight.grad, m.bias.grad.unsqueeze(1)], 1)
            pi = (torch.trace(self.A[m]) / len(self.A[m]) / (torch.trace(self.G[m]) / len(self.G[m]))).sqrt()
            dA = self.A[m] + pi * self.damping ** 0.5 * torch.eye(len(self.A[m]))
            dG = self.G[m] + self.damping ** 0.5 / pi * torch.eye(len(self.G[m]))
            nat = torch.cholesky_solve(torch.cholesky_solve(gW.T, torch.linalg.cholesky(dA)).T, torch.linalg.cholesky(dG))
            m.weight.add_(nat[:, :-1], alpha=-self.param_groups[0]["lr"])
            m.bias.add_(nat[:, -1], alpha=-self.param_groups[0]["lr"])


net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
data = torch.randn(24, 4)
target = torch.stack([data[:, 0] * data[:, 1], data[:, 2].sin()], 1)
opt = KFAC(net)
for it in range(4):
    opt.zero_grad()
    loss = F.mse_loss(net(data), target)
    loss.backward()
    opt.step()
    print(f"kfac {it}: {loss.item():.5f}")

plain = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
plain.load_state_dict(net.state_dict())
net = plain
params = dict(net.named_parameters())
f = lambda p: functional_call(net, p, (data[:3],))
jac = jacrev(f)(params)
print({k: tuple(v.shape) for k, v in jac.items()})
ntk = sum(torch.einsum("iaf,jaf->ij", j.detach().flatten(2), j.detach().flatten(2)) for j in jac.values())
print("ntk", ntk.shape, f"{ntk.trace().item():.3f}")
out, pull = vjp(f, params)
gn = pull(torch.ones_like(out))[0]
vec = parameters_to_vector(net.parameters())
vector_to_parameters(vec * 0.5, net.parameters())
print(vec.shape, f"{gn['2.bias'].tolist()}", f"{(net[0].weight.norm() / vec[:32].norm()).item():.3f}")
