"""Optimizers as people write them: SAM with two passes, Lion, LARS, Lookahead, gradient centralization, on one small net."""
import math
from collections import defaultdict
from typing import Callable, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Optimizer


class SAM(torch.optim.Optimizer):
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

    @torch.no_grad()
    def step(self, closure=None):
        assert closure is not None, "Sharpness Aware Minimization requires closure, but it was not provided"
        closure = torch.enable_grad()(closure)
        self.first_step(zero_grad=True)
        closure()
        self.second_step()

    def _grad_norm(self):
        shared_device = self.param_groups[0]["params"][0].device
        return torch.norm(
            torch.stack([
                ((torch.abs(p) if group["adaptive"] else 1.0) * p.grad).norm(p=2).to(shared_device)
                for group in self.param_groups for p in group["params"] if p.grad is not None
            ]), p=2)

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self.base_optimizer.param_groups = self.param_groups


class Lion(Optimizer):
    def __init__(self, params, lr: float = 1e-4, betas=(0.9, 0.99), weight_decay: float = 0.0):
        if not 0.0 <= lr:
            raise ValueError("Invalid learning rate: {}".format(lr))
        defaults = dict(lr=lr, betas=betas, weight_decay=weight_decay)
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: Optional[Callable] = None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in filter(lambda p: p.grad is not None, group["params"]):
                grad, lr, wd, (beta1, beta2), state = p.grad, group["lr"], group["weight_decay"], group["betas"], self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p)
                exp_avg = state["exp_avg"]
                p.data.mul_(1 - lr * wd)
                update = exp_avg.clone().mul_(beta1).add(grad, alpha=1 - beta1).sign_()
                p.add_(update, alpha=-lr)
                exp_avg.mul_(beta2).add_(grad, alpha=1 - beta2)
        return loss


class LARS(torch.optim.Optimizer):
    def __init__(self, params, lr=0, weight_decay=0, momentum=0.9, trust_coefficient=0.001):
        defaults = dict(lr=lr, weight_decay=weight_decay, momentum=momentum, trust_coefficient=trust_coefficient)
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self):
        for g in self.param_groups:
            for p in g["params"]:
                dp = p.grad
                if dp is None:
                    continue
                if p.ndim > 1:
                    dp = dp.add(p, alpha=g["weight_decay"])
                    param_norm = torch.norm(p)
                    update_norm = torch.norm(dp)
                    one = torch.ones_like(param_norm)
                    q = torch.where(param_norm > 0., torch.where(update_norm > 0, (g["trust_coefficient"] * param_norm / update_norm), one), one)
                    dp = dp.mul(q)
                param_state = self.state[p]
                if "mu" not in param_state:
                    param_state["mu"] = torch.zeros_like(p)
                mu = param_state["mu"]
                mu.mul_(g["momentum"]).add_(dp)
                p.add_(mu, alpha=-g["lr"])


class Lookahead(Optimizer):
    def __init__(self, base_optimizer, alpha=0.5, k=2):
        self.base_optimizer, self.alpha, self.k = base_optimizer, alpha, k
        self.param_groups = base_optimizer.param_groups
        self.state = defaultdict(dict)
        for group in self.param_groups:
            group["step_counter"] = 0
            for p in group["params"]:
                self.state[p]["slow"] = p.detach().clone()

    def zero_grad(self):
        self.base_optimizer.zero_grad()

    def step(self, closure=None):
        loss = self.base_optimizer.step(closure)
        for group in self.param_groups:
            group["step_counter"] += 1
            if group["step_counter"] % self.k == 0:
                for p in group["params"]:
                    slow = self.state[p]["slow"]
                    slow.add_(p.detach() - slow, alpha=self.alpha)
                    p.data.copy_(slow)
        return loss


def centralize(p):
    def hook(grad):
        return grad - grad.mean(dim=tuple(range(1, grad.dim())), keepdim=True) if grad.dim() > 1 else grad
    return p.register_hook(hook)


def make():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3))


x, y = torch.randn(10, 4, generator=torch.Generator().manual_seed(1)), torch.arange(10) % 3


def run(name, build, closure_needed=False):
    model = make()
    opt = build(model)
    fwd = torch.compile(model)
    history = []

    def closure():
        loss = F.cross_entropy(fwd(x), y, label_smoothing=0.1)
        loss.backward()
        return loss

    for _ in range(4):
        opt.zero_grad()
        loss = closure()
        opt.step(closure) if closure_needed else opt.step()
        history.append(round(loss.item(), 4))
    print(f"{name:12s}", history)
    return opt


sam = run("sam", lambda m: SAM(m.parameters(), torch.optim.SGD, rho=0.05, lr=0.1, momentum=0.9), True)
print(sam.defaults["rho"], sam.defaults["momentum"], sorted(sam.state_dict()["param_groups"][0])[:5])
run("asam", lambda m: SAM(m.parameters(), torch.optim.AdamW, rho=0.5, adaptive=True, lr=0.01), True)
run("lion", lambda m: Lion(m.parameters(), lr=3e-3, weight_decay=0.1))
run("lars", lambda m: LARS(m.parameters(), lr=5.0, weight_decay=1e-4))
look = run("lookahead", lambda m: Lookahead(torch.optim.Adam(m.parameters(), lr=1e-2)))
print(look.param_groups[0]["step_counter"])


def centralized(m):
    for p in m.parameters():
        centralize(p)
    return torch.optim.RAdam(m.parameters(), lr=1e-2)


run("centralized", centralized)
model = make()
opt = Lion(model.parameters(), lr=1e-2)
print(opt)
schedulers = {
    "cosine": torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=3, T_mult=2),
}
lrs = []
for _ in range(6):
    F.cross_entropy(model(x), y).backward()
    opt.step()
    schedulers["cosine"].step()
    lrs.append(round(opt.param_groups[0]["lr"], 5))
print(lrs)
try:
    Lion(model.parameters(), lr=-1)
except ValueError as e:
    print(e)
print(f"{nn.utils.get_total_norm([p.grad for p in model.parameters()]):.4f}")
