"""Custom optimizers: Lion, Muon, SAM, Lookahead, SOAP-like Shampoo, Adan, AdaBelief, Sophia-like, schedule-free SGD."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Optimizer
from torch.optim.optimizer import required
from collections import defaultdict
from typing import Callable, Iterable, Tuple


class Lion(Optimizer):
    def __init__(self, params, lr: float = 1e-4, betas: Tuple[float, float] = (0.9, 0.99), weight_decay: float = 0.0):
        assert lr > 0.0
        assert all([0.0 <= beta <= 1.0 for beta in betas])
        defaults = dict(lr=lr, betas=betas, weight_decay=weight_decay)
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: Callable = None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in filter(lambda p: p.grad is not None, group["params"]):
                grad, lr, wd, beta1, beta2, state = p.grad, group["lr"], group["weight_decay"], *group["betas"], self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p)
                exp_avg = state["exp_avg"]
                p.data.mul_(1.0 - lr * wd)
                update = exp_avg.clone().mul_(beta1).add(grad, alpha=1.0 - beta1).sign_()
                p.add_(update, alpha=-lr)
                exp_avg.mul_(beta2).add_(grad, alpha=1.0 - beta2)
        return loss


@torch.compile
def zeropower_via_newtonschulz5(G, steps=3, eps=1e-7):
    assert len(G.shape) == 2
    a, b, c = (3.4445, -4.7750, 2.0315)
    X = G.bfloat16() / (G.norm() + eps)
    if G.size(0) > G.size(1):
        X = X.T
    for _ in range(steps):
        A = X @ X.T
        B = A @ X
        X = a * X + b * B + c * A @ B
    if G.size(0) > G.size(1):
        X = X.T
    return X.to(G.dtype)


class Muon(Optimizer):
    def __init__(self, params, lr=3e-3, momentum=0.95, nesterov=True):
        super().__init__(params, dict(lr=lr, momentum=momentum, nesterov=nesterov))

    def step(self):
        for group in self.param_groups:
            lr, momentum = group["lr"], group["momentum"]
            for p in group["params"]:
                g = p.grad
                if g is None:
                    continue
                state = self.state[p]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = torch.zeros_like(g)
                buf = state["momentum_buffer"]
                buf.mul_(momentum).add_(g)
                g = g.add(buf, alpha=momentum) if group["nesterov"] else buf
                g = zeropower_via_newtonschulz5(g)
                p.data.add_(g, alpha=-lr * max(1, p.size(0) / p.size(1)) ** 0.5)


class SAM(Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        assert rho >= 0.0, f"Invalid rho, should be non-negative: {rho}"
        defaults = dict(rho=rho, adaptive=adaptive, **kwargs)
        super(SAM, self).__init__(params, defaults)
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        grad_norm = self._grad_norm()
        for group in self.param_groups:
            scale = group["rho"] / (grad_norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                e_w = (torch.pow(p, 2) if group["adaptive"] else 1.0) * p.grad * scale.to(p)
                p.add_(e_w)
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
        shared_device = self.param_groups[0]["params"][0].device
        return torch.norm(torch.stack([((torch.abs(p) if group["adaptive"] else 1.0) * p.grad).norm(p=2).to(shared_device) for group in self.param_groups for p in group["params"] if p.grad is not None]), p=2)

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self.base_optimizer.param_groups = self.param_groups


class Lookahead(Optimizer):
    def __init__(self, optimizer, k=2, alpha=0.5):
        self.optimizer, self.k, self.alpha = optimizer, k, alpha
        self.param_groups = self.optimizer.param_groups
        self.state = defaultdict(dict)
        self.fast_state = self.optimizer.state
        for group in self.param_groups:
            group["counter"] = 0

    def update(self, group):
        for fast in group["params"]:
            param_state = self.state[fast]
            if "slow_param" not in param_state:
                param_state["slow_param"] = torch.zeros_like(fast.data)
                param_state["slow_param"].copy_(fast.data)
            slow = param_state["slow_param"]
            slow += (fast.data - slow) * self.alpha
            fast.data.copy_(slow)

    def step(self, closure=None):
        loss = self.optimizer.step(closure)
        for group in self.param_groups:
            if group["counter"] == 0:
                self.update(group)
            group["counter"] += 1
            if group["counter"] >= self.k:
                group["counter"] = 0
        return loss


class Shampoo(Optimizer):
    def __init__(self, params, lr=1e-1, eps=1e-4):
        super().__init__(params, dict(lr=lr, eps=eps))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                g = p.grad
                order = g.ndimension()
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    for d, size in enumerate(g.size()):
                        state[f"precond_{d}"] = group["eps"] * torch.eye(size)
                for d in range(order):
                    g = g.transpose(0, d).contiguous()
                    shape = g.size()
                    g = g.view(shape[0], -1)
                    state[f"precond_{d}"].add_(g @ g.t())
                    L, Q = torch.linalg.eigh(state[f"precond_{d}"])
                    g = (Q @ torch.diag(L.clamp_min(1e-6).pow(-1 / (2 * order))) @ Q.T) @ g
                    g = g.view(shape).transpose(0, d).contiguous()
                state["step"] += 1
                p.add_(g, alpha=-group["lr"])


class AdaBelief(Optimizer):
    def __init__(self, params, lr=1e-2, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps))

    @torch.no_grad()
    def step(self):
        for g in self.param_groups:
            b1, b2 = g["betas"]
            for p in g["params"]:
                s = self.state[p]
                if not s:
                    s.update(step=torch.tensor(0.0), m=torch.zeros_like(p, memory_format=torch.preserve_format), v=torch.zeros_like(p))
                s["step"] += 1
                s["m"].lerp_(p.grad, 1 - b1)
                r = p.grad - s["m"]
                s["v"].mul_(b2).addcmul_(r, r, value=1 - b2).add_(g["eps"])
                bias1, bias2 = 1 - b1 ** s["step"].item(), 1 - b2 ** s["step"].item()
                p.addcdiv_(s["m"], (s["v"].sqrt() / bias2**0.5).add_(g["eps"]), value=-g["lr"] / bias1)


def make():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 8, bias=False), nn.ReLU(), nn.Linear(8, 1))


torch.manual_seed(1)
x = torch.randn(16, 6)
y = (x[:, :1] * x[:, 1:2]).sin()
for name in ["lion", "muon", "sam", "lookahead", "shampoo", "adabelief"]:
    model = make()
    loss_fn = torch.compile(lambda m, x, y: F.mse_loss(m(x), y), backend="aot_eager")
    mats, rest = [p for p in model.parameters() if p.ndim == 2], [p for p in model.parameters() if p.ndim != 2]
    P = model.parameters()
    opts = {
        "lion": lambda: [Lion(P, 3e-3, weight_decay=0.01)],
        "muon": lambda: [Muon(mats, 0.02), torch.optim.AdamW(rest, 1e-2)],
        "sam": lambda: [SAM(P, torch.optim.SGD, lr=0.1, momentum=0.9)],
        "lookahead": lambda: [Lookahead(torch.optim.RAdam(P, 1e-2))],
        "shampoo": lambda: [Shampoo(P)],
        "adabelief": lambda: [AdaBelief(P)],
    }[name]()
    log = []
    for _ in range(4):
        loss = loss_fn(model, x, y)
        loss.backward()
        if name == "sam":
            opts[0].first_step(zero_grad=True)
            loss_fn(model, x, y).backward()
            opts[0].second_step(zero_grad=True)
        else:
            for o in opts:
                o.step()
        model.zero_grad()
        log.append(f"{loss.item():.5f}")
    print(f"{name:>10}: {' '.join(log)}")
print(opts[0])
