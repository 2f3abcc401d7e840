"""Adam under the infinity norm."""

import torch
from torch.optim.optimizer import PerParameter, _check_options, _counter, _in_graph, _to_scalar, _zeros

__all__ = ["Adamax"]


class Adamax(PerParameter):
    """Adam under the infinity norm."""

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        _check_options(lr, eps=eps, betas=betas, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, param, group):
        return {"step": _counter(), "exp_avg": _zeros(param), "exp_inf": _zeros(param)}

    def _update(self, param, grad, state, group):
        beta1, beta2 = group["betas"]
        average, largest = state["exp_avg"], state["exp_inf"]
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        average.lerp_(grad, 1 - beta1)
        if group["differentiable"]:
            both = [largest.mul_(beta2).unsqueeze(0), grad.abs().add_(group["eps"]).unsqueeze_(0)]
            largest.copy_(torch.amax(torch.cat(both, 0), 0, keepdim=False))
        else:
            torch.maximum(largest.mul_(beta2), grad.abs().add_(group["eps"]), out=largest)
        if _in_graph(group):
            correction = beta1 ** state["step"] - 1
            correction.div_(_to_scalar(group["lr"]))
            param.addcdiv_(average, largest * correction)
            return
        correction = 1 - beta1 ** state["step"].item()
        param.addcdiv_(average, largest, value=-(_to_scalar(group["lr"]) / correction))
