"""Averaged stochastic gradient descent."""

import torch
from torch.optim.optimizer import PerParameter, _check_options, _get_scalar_dtype, _in_graph, _to_scalar, _zeros

__all__ = ["ASGD"]


class ASGD(PerParameter):
    """Gradient descent that also averages its parameters."""

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        _check_options(lr, lambd=lambd, alpha=alpha, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, param, group):
        options = {"device": param.device, "dtype": _get_scalar_dtype()}
        return {
            "step": torch.zeros((), **options),
            "eta": torch.as_tensor(_to_scalar(group["lr"]), **options).clone().detach(),
            "mu": torch.ones((), **options),
            "ax": _zeros(param),
        }

    def _tensors_of(self, state):
        return [state[key] for key in ("step", "eta", "ax", "mu") if key in state]

    def _update(self, param, grad, state, group):
        lr, lambd = _to_scalar(group["lr"]), group["lambd"]
        mu, average, eta = state["mu"], state["ax"], state["eta"]
        state["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        if _in_graph(group):
            step = state["step"]
            param.mul_(1 - lambd * eta)
            param.addcmul_(grad, eta, value=-1)
            average.add_(param.sub(average).mul_(mu))
            eta.copy_(lr / ((1 + lambd * lr * step) ** group["alpha"]))
            mu.copy_(1 / torch.maximum(step - group["t0"], torch.ones_like(step)))
            return
        size = eta.item()
        param.mul_(1 - lambd * size)
        param.add_(grad, alpha=-size)
        if mu.item() != 1:
            average.add_(param.sub(average).mul_(mu))
        else:
            average.copy_(param)
        step = state["step"].item()
        eta.copy_(torch.as_tensor(lr / (1 + lambd * lr * step) ** group["alpha"]))
        mu.copy_(torch.as_tensor(1 / max(1, step - group["t0"])))
