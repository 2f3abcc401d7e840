import torch
import torch.nn as nn
from torch.autograd import grad
import numpy as np

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
nu = 0.01 / torch.pi


class MLP(nn.Module):
    def __init__(self, layers):
        super().__init__()
        modules = []
        for i in range(len(layers) - 2):
            modules += [nn.Linear(layers[i], layers[i + 1]), nn.Tanh()]
        modules.append(nn.Linear(layers[-2], layers[-1]))
        self.net = nn.Sequential(*modules)
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def gradient(y, x):
    return grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]


model = MLP([2, 10, 10, 1])
x = (torch.rand(32, 1) * 2 - 1).requires_grad_()
t = torch.rand(32, 1, requires_grad=True)
x0 = torch.linspace(-1, 1, 16).unsqueeze(1)
u0 = -torch.sin(torch.pi * x0)
xb = torch.cat([-torch.ones(8, 1), torch.ones(8, 1)])
tb = torch.rand(16, 1)


def residual():
    u = model(x, t)
    u_t = gradient(u, t)
    u_x = gradient(u, x)
    u_xx = gradient(u_x, x)
    return u_t + u * u_x - nu * u_xx


@torch.compile
def data_loss():
    loss_ic = torch.mean((model(x0, torch.zeros_like(x0)) - u0) ** 2)
    loss_bc = (model(xb, tb) ** 2).mean()
    return loss_ic, loss_bc


optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    optimizer.zero_grad()
    loss_f = residual().pow(2).mean()
    loss_ic, loss_bc = data_loss()
    loss = loss_f + loss_ic + loss_bc
    loss.backward()
    optimizer.step()
    print(f"Epoch {epoch}: total={loss.item():.5e} pde={loss_f.item():.5e} ic={loss_ic.item():.5e}")

lbfgs = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=6, history_size=5, line_search_fn="strong_wolfe")
calls = 0


def closure():
    global calls
    calls += 1
    lbfgs.zero_grad()
    loss = residual().pow(2).mean() + sum(data_loss())
    loss.backward()
    return loss


final = lbfgs.step(closure)
print("first closure loss", round(final.item(), 6), "evaluations", calls)
with torch.no_grad():
    print("u(0.5, 0.1) =", model(torch.tensor([[0.5]]), torch.tensor([[0.1]])).item().__round__(5))
print(f"dtype: {next(model.parameters()).dtype}")
