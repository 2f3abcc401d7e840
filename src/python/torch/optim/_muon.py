"""Muon: momentum made orthogonal."""

import math

import torch
from torch.optim.optimizer import PerParameter, _to_scalar

__all__ = ["Muon"]

_ADJUSTMENTS = ("original", "match_rms_adamw", "spectral_unclamped")


def _orthogonal(matrix, coefficients, steps, eps):
    """About the nearest orthogonal matrix, by Newton-Schulz iterations in bfloat16."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    result = matrix.to(dtype=torch.bfloat16, copy=True)
    tall = matrix.size(0) > matrix.size(1)
    if tall:
        result = result.T
    result.div_(result.norm().clamp(min=eps))
    for _ in range(steps):
        gram = result @ result.T
        update = torch.addmm(gram, gram, gram, beta=b, alpha=c)
        result = torch.addmm(result, update, result, beta=a)
    return result.T if tall else result


def _adjusted(lr, kind, shape):
    rows, columns = shape[:2]
    if kind is None or kind == "original":
        return lr * math.sqrt(max(1, rows / columns))
    if kind == "match_rms_adamw":
        return lr * (0.2 * math.sqrt(max(rows, columns)))
    return lr * math.sqrt(rows / columns)


class Muon(PerParameter):
    """Momentum made orthogonal; for matrices."""

    def __init__(
        self,
        params,
        lr=1e-3,
        weight_decay=0.1,
        momentum=0.95,
        nesterov=True,
        ns_coefficients=(3.4445, -4.7750, 2.0315),
        eps=1e-7,
        ns_steps=5,
        adjust_lr_fn=None,
    ):
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not 0.0 <= value:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn is not None and adjust_lr_fn not in _ADJUSTMENTS:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}"
                    )

    def _start(self, param, group):
        return {"momentum_buffer": torch.zeros_like(param.grad, memory_format=torch.preserve_format)}

    def _update(self, param, grad, state, group):
        lr, momentum = _to_scalar(group["lr"]), group["momentum"]
        buffer = state["momentum_buffer"]
        buffer.lerp_(grad, 1 - momentum)
        update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        param.mul_(1 - lr * group["weight_decay"])
        param.add_(update, alpha=-_adjusted(lr, group["adjust_lr_fn"], param.shape))
