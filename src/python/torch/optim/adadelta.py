"""Adadelta."""

import torch
from torch.optim.optimizer import PerParameter, _check_options, _get_scalar_dtype, _to_scalar, _zeros

__all__ = ["Adadelta"]


class Adadelta(PerParameter):
    """Steps as large as recent steps were."""

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-6,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        _check_options(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        _check_options(lr, eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, param, group):
        return {
            "step": torch.zeros((), dtype=_get_scalar_dtype()),
            "square_avg": _zeros(param),
            "acc_delta": _zeros(param),
        }

    def _update(self, param, grad, state, group):
        rho, eps = group["rho"], group["eps"]
        square, steps = state["square_avg"], state["acc_delta"]
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        root = square.add(eps).sqrt_()
        delta = steps.add(eps).sqrt_()
        if group["differentiable"]:
            delta = delta.clone()
        delta.div_(root).mul_(grad)
        steps.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-_to_scalar(group["lr"]))
