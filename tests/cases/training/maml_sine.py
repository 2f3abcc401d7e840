import random
import math
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
rng = random.Random(0)


class SineTask:
    def __init__(self):
        self.amplitude = rng.uniform(0.1, 5.0)
        self.phase = rng.uniform(0.0, math.pi)

    def sample(self, k):
        x = torch.rand(k, 1) * 10 - 5
        return x, self.amplitude * torch.sin(x + self.phase)


net = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
alpha = 0.05


def forward(params, x):
    return functional_call(net, params, (x,))


def loss_fn(params, x, y):
    return nn.functional.mse_loss(forward(params, x), y)


def adapted_loss(params, xs, ys, xq, yq):
    grads = grad(loss_fn)(params, xs, ys)
    fast = {k: params[k] - alpha * g for k, g in grads.items()}
    return loss_fn(fast, xq, yq)


# variant 1: torch.func, a batch of tasks at once
for it in range(3):
    tasks = [SineTask() for _ in range(4)]
    data = [t.sample(5) + t.sample(5) for t in tasks]
    xs, ys, xq, yq = (torch.stack(z) for z in zip(*data))
    params = dict(net.named_parameters())
    losses = vmap(adapted_loss, in_dims=(None, 0, 0, 0, 0))(params, xs, ys, xq, yq)
    loss = losses.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"[func] iter {it} meta loss {loss.item():.4f} tasks {[round(l, 3) for l in losses.tolist()]}")

# variant 2: create_graph=True
for it in range(3):
    meta_loss = 0.0
    for _ in range(2):
        task = SineTask()
        xs, ys = task.sample(5)
        xq, yq = task.sample(5)
        weights = [w.clone() for w in net.parameters()]

        def run(w, x):
            x = torch.relu(x @ w[0].t() + w[1])
            x = torch.relu(x @ w[2].t() + w[3])
            return x @ w[4].t() + w[5]

        inner = ((run(weights, xs) - ys) ** 2).mean()
        grads = torch.autograd.grad(inner, weights, create_graph=True)
        fast = [w - alpha * g for w, g in zip(weights, grads)]
        meta_loss = meta_loss + ((run(fast, xq) - yq) ** 2).mean()
    opt.zero_grad()
    meta_loss.backward()
    opt.step()
    print(f"[graph] iter {it} meta loss {meta_loss.item():.4f}")

# evaluation with a compiled network
compiled = torch.compile(net, dynamic=False)
task = SineTask()
x, y = task.sample(10)
print(compiled(x).shape, f"{nn.functional.mse_loss(compiled(x), y).item():.4f}")
per_sample = vmap(grad(lambda p, a, b: loss_fn(p, a.unsqueeze(0), b.unsqueeze(0))), in_dims=(None, 0, 0))(
    {k: v.detach() for k, v in net.named_parameters()}, x, y)
print({k: tuple(v.shape) for k, v in per_sample.items()})
