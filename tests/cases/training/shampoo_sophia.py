"""Optimizers from papers, written as torch.optim.Optimizer subclasses: Shampoo, Sophia-G, Adafactor-like, LAMB, Lookahead, AdaBelief, Prodigy-lite, SAM."""
import math
from collections import defaultdict
from typing import Iterable, Callable

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler

torch.manual_seed(5)


def _matrix_power(matrix: torch.Tensor, power: float) -> torch.Tensor:
    u, s, v = torch.svd(matrix)
    return u @ s.pow_(power).diag() @ v.t()


class Shampoo(Optimizer):
    def __init__(self, params, lr=1e-1, momentum=0.0, weight_decay=0.0, epsilon=1e-4, update_freq=1):
        if lr <= 0.0:
            raise ValueError("Invalid learning rate: {}".format(lr))
        defaults = dict(lr=lr, momentum=momentum, weight_decay=weight_decay, epsilon=epsilon, update_freq=update_freq)
        super().__init__(params, defaults)

    def step(self, closure=None):
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad.data
                order, original_size = grad.ndimension(), grad.size()
                state = self.state[p]
                momentum = group["momentum"]
                if len(state) == 0:
                    state["step"] = 0
                    if momentum > 0:
                        state["momentum_buffer"] = grad.clone()
                    for dim_id, dim in enumerate(grad.size()):
                        state["precond_{}".format(dim_id)] = group["epsilon"] * torch.eye(dim, out=grad.new(dim, dim))
                        state["inv_precond_{dim_id}".format(dim_id=dim_id)] = grad.new(dim, dim).zero_()
                if momentum > 0:
                    grad.mul_(1 - momentum).add_(state["momentum_buffer"], alpha=momentum)
                for dim_id, dim in enumerate(grad.size()):
                    precond, inv_precond = state["precond_{}".format(dim_id)], state["inv_precond_{}".format(dim_id)]
                    grad = grad.transpose_(0, dim_id).contiguous()
                    transposed_size = grad.size()
                    grad = grad.view(dim, -1)
                    grad_t = grad.t()
                    precond.add_(grad @ grad_t)
                    if state["step"] % group["update_freq"] == 0:
                        inv_precond.copy_(_matrix_power(precond, -1 / order))
                    if dim_id == order - 1:
                        grad = grad_t @ inv_precond
                        grad = grad.view(original_size)
                    else:
                        grad = inv_precond @ grad
                        grad = grad.view(transposed_size)
                state["step"] += 1
                state["momentum_buffer"] = grad
                p.data.add_(grad, alpha=-group["lr"])
        return loss


class SophiaG(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.965, 0.99), rho=0.04, weight_decay=1e-1):
        super().__init__(params, dict(lr=lr, betas=betas, rho=rho, weight_decay=weight_decay))

    @torch.no_grad()
    def update_hessian(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = torch.tensor(0.0)
                    state["exp_avg"] = torch.zeros_like(p, memory_format=torch.preserve_format)
                    state["hessian"] = torch.zeros_like(p, memory_format=torch.preserve_format)
                state["hessian"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)

    @torch.no_grad()
    def step(self, closure=None, bs=32):
        for group in self.param_groups:
            beta1, _ = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "exp_avg" not in state:
                    state["step"], state["exp_avg"], state["hessian"] = torch.tensor(0.0), torch.zeros_like(p), torch.zeros_like(p)
                state["step"] += 1
                p.mul_(1 - group["lr"] * group["weight_decay"])
                state["exp_avg"].mul_(beta1).add_(p.grad, alpha=1 - beta1)
                ratio = (state["exp_avg"].abs() / (group["rho"] * bs * state["hessian"] + 1e-15)).clamp(None, 1)
                p.addcmul_(state["exp_avg"].sign(), ratio, value=-group["lr"])


class Lamb(Optimizer):
    def __init__(self, params, lr=1e-2, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01, adam=False):
        self.adam = adam
        super(Lamb, self).__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad, state = p.grad.data, self.state[p]
                if grad.is_sparse:
                    raise RuntimeError("Lamb does not support sparse gradients, consider SparseAdam instad.")
                if len(state) == 0:
                    state["step"], state["exp_avg"], state["exp_avg_sq"] = 0, torch.zeros_like(p.data), torch.zeros_like(p.data)
                exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
                beta1, beta2 = group["betas"]
                state["step"] += 1
                exp_avg.mul_(beta1).add_(grad, alpha=1 - beta1)
                exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
                weight_norm = p.data.pow(2).sum().sqrt().clamp(0, 10)
                adam_step = exp_avg / exp_avg_sq.sqrt().add(group["eps"])
                if group["weight_decay"] != 0:
                    adam_step.add_(p.data, alpha=group["weight_decay"])
                adam_norm = adam_step.pow(2).sum().sqrt()
                trust_ratio = 1 if weight_norm == 0 or adam_norm == 0 else weight_norm / adam_norm
                state["trust_ratio"] = trust_ratio
                p.data.add_(adam_step, alpha=-group["lr"] * (1 if self.adam else float(trust_ratio)))


class Lookahead(Optimizer):
    def __init__(self, optimizer, k=3, alpha=0.5):
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

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self, closure=None):
        loss = self.optimizer.step(closure)
        for group in self.param_groups:
            if group["counter"] == 0:
                self.update(group)
            group["counter"] += 1
            if group["counter"] >= self.k:
                group["counter"] = 0
        return loss


class AdaBelief(Optimizer):
    def __init__(self, params, lr=1e-2, betas=(0.9, 0.999), eps=1e-12):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps))

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("amsgrad", False)

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in filter(lambda p: p.grad is not None, group["params"]):
                st = self.state[p]
                if not st:
                    st.update(step=0, exp_avg=torch.zeros_like(p), exp_avg_var=torch.zeros_like(p))
                st["step"] += 1
                m, v = st["exp_avg"], st["exp_avg_var"]
                m.lerp_(p.grad, 1 - b1)
                diff = p.grad - m
                v.mul_(b2).addcmul_(diff, diff, value=1 - b2)
                denom = (v.add_(group["eps"]).sqrt() / math.sqrt(1 - b2 ** st["step"])).add_(group["eps"])
                p.addcdiv_(m, denom, value=-group["lr"] / (1 - b1 ** st["step"]))


class SAM(Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        assert rho >= 0.0, f"Invalid rho, should be non-negative: {rho}"
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)

    @torch.no_grad()
    def step(self, closure=None):
        closure = torch.enable_grad()(closure)
        norm = torch.norm(torch.stack([((torch.abs(p) if g["adaptive"] else 1.0) * p.grad).norm(p=2) for g in self.param_groups for p in g["params"] if p.grad is not None]), p=2)
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_((torch.pow(p, 2) if group["adaptive"] else 1.0) * p.grad * scale.to(p))
        self.zero_grad()
        closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        self.zero_grad()


class WarmupCosine(LRScheduler):
    def __init__(self, optimizer, warmup, total, last_epoch=-1):
        self.warmup, self.total = warmup, total
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        e = self.last_epoch
        f = (e + 1) / self.warmup if e < self.warmup else 0.5 * (1 + math.cos(math.pi * (e - self.warmup) / max(1, self.total - self.warmup)))
        return [base * f for base in self.base_lrs]


X = torch.randn(64, 6)
Y = (X @ torch.randn(6, 2)).tanh() + 0.05 * torch.randn(64, 2)


def make():
    torch.manual_seed(9)
    return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 2))


def run(name, build, steps=6, sam=False):
    model = make()
    loss_fn = torch.compile(lambda x, y: F.mse_loss(model(x), y)) if name in ("lamb", "sam") else (lambda x, y: F.mse_loss(model(x), y))
    opt = build(model)
    sched = WarmupCosine(opt, 2, steps) if not isinstance(opt, Lookahead) else None
    losses, lrs = [], []
    for i in range(steps):
        def closure():
            loss = loss_fn(X, Y)
            loss.backward()
            return loss
        opt.zero_grad()
        loss = closure()
        if name == "sophia" and i % 2 == 0:
            opt.update_hessian()
        opt.step(closure) if sam else opt.step()
        if sched is not None:
            lrs.append(sched.get_last_lr()[0]); sched.step()
        losses.append(loss.item())
    print(f"{name:>10s} " + " ".join(f"{l:.2f}" for l in losses) + (f" lr {lrs[0]:.2e} -> {lrs[-1]:.2e}" if lrs else ""))
    return model, opt


run("shampoo", lambda m: Shampoo(m.parameters(), lr=0.1, momentum=0.1))
run("sophia", lambda m: SophiaG(m.parameters(), lr=0.02))
_, lamb = run("lamb", lambda m: Lamb(m.parameters()))
print({type(v["trust_ratio"]).__name__ for v in lamb.state.values()}, lamb)
run("lookahead", lambda m: Lookahead(torch.optim.RAdam(m.parameters(), lr=0.05)))
_, ab = run("adabelief", lambda m: AdaBelief(m.parameters(), lr=0.03))
sd = ab.state_dict()
print(sorted(sd["state"]), sd["param_groups"][0]["params"], {k: (tuple(v.shape) if torch.is_tensor(v) else v) for k, v in sd["state"][0].items()})
run("sam", lambda m: SAM(m.parameters(), torch.optim.SGD, rho=0.1, lr=0.1, momentum=0.9), sam=True)
run("asam", lambda m: SAM(m.parameters(), torch.optim.AdamW, adaptive=True, lr=0.02), sam=True)
