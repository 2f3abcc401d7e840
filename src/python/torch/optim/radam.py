"""Rectified Adam."""

import torch
from torch.optim.optimizer import PerParameter, _check_options, _counter, _decayed, _in_graph, _move_moments, _to_scalar, _zeros

__all__ = ["RAdam"]


class RAdam(PerParameter):
    """Adam that adapts only once the variance is known well enough."""

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        _check_options(lr, eps=eps, betas=betas, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, param, group):
        return {"step": _counter(), "exp_avg": _zeros(param), "exp_avg_sq": _zeros(param)}

    def _update(self, param, grad, state, group):
        lr = _to_scalar(group["lr"])
        beta1, beta2 = group["betas"]
        average, square = state["exp_avg"], state["exp_avg_sq"]
        state["step"] += 1
        in_graph = _in_graph(group)
        step = state["step"] if in_graph else state["step"].item()
        grad = _decayed(param, grad, lr, group)
        _move_moments(average, square, grad, (beta1, beta2))
        correction1 = 1 - beta1**step
        correction2 = 1 - beta2**step
        corrected = average / correction1
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * (beta2**step) / correction2

        def rectified():
            return ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5

        def adapted():
            root = square.sqrt()
            root = root.add(group["eps"]) if group["differentiable"] else root.add_(group["eps"])
            return correction2**0.5 / root

        if in_graph:
            update = torch.where(length > 5.0, rectified() * adapted(), 1.0)
            param.add_(corrected * lr * update, alpha=-1.0)
        elif length > 5.0:
            param.add_(corrected * lr * adapted() * rectified(), alpha=-1.0)
        else:
            param.add_(corrected * lr, alpha=-1.0)
