"""Physics by structure: Lagrangian and Hamiltonian networks through torch.func, a neural controlled ODE and symplectic steps."""
import math

import torch
import torch.nn as nn
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vmap

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


class Lagrangian(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.Softplus(), nn.Linear(hidden, hidden), nn.Softplus(), nn.Linear(hidden, 1))

    def forward(self, q, qdot):
        return self.net(torch.stack([q, qdot])).squeeze() + 0.5 * qdot ** 2


model = Lagrangian()
params = dict(model.named_parameters())


def lagrangian(params, q, qdot):
    return functional_call(model, params, (q, qdot))


def acceleration(params, q, qdot):
    dq = grad(lagrangian, argnums=1)(params, q, qdot)
    d2 = grad(lambda v: grad(lagrangian, argnums=2)(params, q, v))(qdot)
    mixed = grad(lambda x: grad(lagrangian, argnums=2)(params, x, qdot))(q)
    return (dq - mixed * qdot) / d2


q = torch.linspace(-1.5, 1.5, 8)
qdot = torch.cos(3 * q)
truth = -9.8 * torch.sin(q)
opt = torch.optim.Adam(params.values(), lr=1e-2)
for step in range(4):
    pred = vmap(acceleration, in_dims=(None, 0, 0))(params, q, qdot)
    loss = ((pred - truth) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"lagrangian {step} {loss.item():.6f}")


class HNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1, bias=False))
        for l in self.net:
            if isinstance(l, nn.Linear):
                torch.nn.init.orthogonal_(l.weight)
        self.register_buffer("M", torch.tensor([[0.0, 1.0], [-1.0, 0.0]]))

    def forward(self, x):
        return self.net(x).squeeze(-1)

    def time_derivative(self, x):
        dF = torch.autograd.grad(self(x).sum(), x, create_graph=True)[0]
        return dF @ self.M.t()


hnn = HNN()
x = torch.randn(12, 2, requires_grad=True)
dx = torch.stack([x[:, 1], -torch.sin(x[:, 0])], 1).detach()
opt = torch.optim.Adam(hnn.parameters(), 1e-2, weight_decay=1e-4)
for step in range(4):
    loss = (dx - hnn.time_derivative(x)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"hamiltonian {step} {loss.item():.6f}")


@torch.compile
def leapfrog(q, p, dt, steps: int):
    for _ in range(steps):
        p = p - 0.5 * dt * torch.sin(q)
        q = q + dt * p
        p = p - 0.5 * dt * torch.sin(q)
    return q, p


q0, p0 = torch.tensor([0.5, 1.0]), torch.tensor([0.0, 0.1])
q1, p1 = leapfrog(q0, p0, torch.tensor(0.1), 5)
energy = lambda q, p: 0.5 * p ** 2 - torch.cos(q)
print((energy(q1, p1) - energy(q0, p0)).abs().max() < 1e-3, q1, p1)


def field(x):
    return torch.stack([x[1], -torch.sin(x[0]) - 0.1 * x[1]])


point = torch.tensor([0.3, -0.2])
print(jacrev(field)(point), torch.allclose(jacrev(field)(point), jacfwd(field)(point)))
print(hessian(lambda v: energy(v[0], v[1]))(point))
value, tangent = jvp(field, (point,), (torch.tensor([1.0, 0.0]),))
print(value, tangent)
eig = torch.linalg.eigvalsh(hessian(lambda v: (v ** 4).sum() + v.prod())(torch.tensor([1.0, 2.0, 0.5])))
print(eig, torch.linalg.matrix_exp(0.1 * hnn.M))


class ControlledODE(nn.Module):
    def __init__(self, hidden=6, inputs=2):
        super().__init__()
        self.initial, self.f, self.readout = nn.Linear(inputs, hidden), nn.Linear(hidden, hidden * inputs), nn.Linear(hidden, 1)
        self.hidden, self.inputs = hidden, inputs

    def forward(self, path):
        z = self.initial(path[:, 0])
        for a, b in zip(path[:, :-1].unbind(1), path[:, 1:].unbind(1)):
            F = torch.tanh(self.f(z)).view(-1, self.hidden, self.inputs)
            z = z + (F @ (b - a).unsqueeze(-1)).squeeze(-1)
        return self.readout(z).squeeze(-1)


cde = ControlledODE()
t = torch.linspace(0, 1, 5)
paths = torch.stack([torch.stack([t, torch.sin(k * math.pi * t)], -1) for k in (1.0, 2.0, 3.0)])
labels = torch.tensor([0.0, 1.0, 0.0])
opt = torch.optim.LBFGS(cde.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")
fwd = torch.compile(cde)


def closure():
    opt.zero_grad()
    loss = nn.functional.binary_cross_entropy_with_logits(fwd(paths), labels)
    loss.backward()
    return loss


for step in range(2):
    print(f"cde {step} {opt.step(closure).item():.6f}")
