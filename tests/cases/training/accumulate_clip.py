"""Gradient tricks: accumulation, clipping, checkpointing, penalties, hooks, LARS, SAM, Lookahead written by hand."""
import math
import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.checkpoint import checkpoint


class SAM(Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        assert rho >= 0.0, f"Invalid rho, should be non-negative: {rho}"
        defaults = dict(rho=rho, **kwargs)
        super().__init__(params, defaults)
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        grad_norm = self._grad_norm()
        for group in self.param_groups:
            scale = group["rho"] / (grad_norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale.to(p))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def _grad_norm(self):
        return torch.norm(torch.stack([p.grad.norm(p=2) for g in self.param_groups for p in g["params"] if p.grad is not None]), p=2)


class Lion(Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        if not 0.0 <= lr:
            raise ValueError("Invalid learning rate: {}".format(lr))
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data.mul_(1 - group["lr"] * group["weight_decay"])
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p)
                exp_avg = state["exp_avg"]
                beta1, beta2 = group["betas"]
                update = exp_avg * beta1 + p.grad * (1 - beta1)
                p.add_(update.sign_(), alpha=-group["lr"])
                exp_avg.mul_(beta2).add_(p.grad, alpha=1 - beta2)
        return loss


class Deep(nn.Module):
    def __init__(self, use_checkpoint):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(3))
        self.head = nn.Linear(6, 1)
        self.use_checkpoint = use_checkpoint

    def forward(self, x):
        for b in self.blocks:
            x = x + (checkpoint(b, x, use_reentrant=False) if self.use_checkpoint else b(x))
        return self.head(x)


def build(use_checkpoint=False):
    torch.manual_seed(7)
    return Deep(use_checkpoint)


torch.manual_seed(1)
x, y = torch.randn(16, 6), torch.randn(16, 1)
reference = None
for flag in (False, True):
    model = build(flag)
    net = torch.compile(model)
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    grads = torch.cat([p.grad.flatten() for p in model.parameters()])
    if reference is None:
        reference = grads
    print(f"checkpoint={flag} loss {loss.item():.5f} same grads {torch.allclose(grads, reference)}")

model = build()
net = torch.compile(model)
full = build()
((full(x) - y) ** 2).mean().backward()
for chunk_x, chunk_y in zip(x.chunk(4), y.chunk(4)):
    (((net(chunk_x) - chunk_y) ** 2).mean() / 4).backward()
print("accumulated == full", all(torch.allclose(a.grad, b.grad, atol=1e-6) for a, b in zip(model.parameters(), full.parameters())))
total = nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.1)
after = math.sqrt(sum(p.grad.pow(2).sum().item() for p in model.parameters()))
print(f"norm {total:.4f} -> {after:.4f}", nn.utils.clip_grad_norm_(model.parameters(), 0.05, norm_type=float("inf")))

model = build()
net = torch.compile(model)
opt = SAM(model.parameters(), torch.optim.SGD, rho=0.1, lr=0.05, momentum=0.9)
for i in range(3):
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    opt.first_step(zero_grad=True)
    (net(x) - y).pow(2).mean().backward()
    opt.second_step(zero_grad=True)
    print(f"sam {i} {loss.item():.5f}")

model = build()
opt = Lion(model.parameters(), lr=1e-2, weight_decay=1e-2)
net = torch.compile(model)


def closure():
    opt.zero_grad()
    loss = nn.functional.huber_loss(net(x), y, delta=0.5)
    loss = loss + 1e-3 * sum(p.abs().sum() for p in model.parameters())
    loss.backward()
    return loss


for i in range(3):
    print(f"lion {i} {opt.step(closure).item():.5f}")
seen = []
model = build()
handle = model.head.weight.register_hook(lambda g: g * 0.5)
post = model.head.weight.register_post_accumulate_grad_hook(lambda p: seen.append(tuple(p.shape)))
model(x).sum().backward()
handle.remove()
post.remove()
print(seen, f"{model.head.weight.grad.sum():.4f}", opt.state_dict()["param_groups"][0]["betas"], repr(opt).splitlines()[0])
xg = x.clone().requires_grad_()
out = build()(xg)
g, = torch.autograd.grad(out.sum(), xg, create_graph=True)
penalty = (g.norm(2, dim=1) - 1).pow(2).mean()
penalty.backward()
print(f"penalty {penalty.item():.5f} {xg.grad.norm():.5f}")
with torch.autograd.set_detect_anomaly(True):
    print(torch.autograd.functional.jacobian(lambda t: t.pow(2).sum(0), torch.ones(2, 2)).shape)
