"""Adagrad."""

import torch
from torch.optim.optimizer import PerParameter, _check_options, _counter, _to_scalar, _value

__all__ = ["Adagrad"]


class Adagrad(PerParameter):
    """Gradients divided by the root of their summed squares."""

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        _check_options(
            lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param].update(self._start(param, group))

    def _check_gradient(self, grad):
        if grad.is_sparse:
            raise NotImplementedError("Adagrad: sparse gradients are not supported in the playground")

    _read_first = ("step",)

    def _start(self, param, group):
        value = self.defaults["initial_accumulator_value"]
        if torch.is_complex(param):
            value = complex(value, value)
        return {"step": _counter(), "sum": torch.full_like(param, value, memory_format=torch.preserve_format)}

    def _update(self, param, grad, state, group):
        state["step"] += 1
        step = _value(state["step"])
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        size = _to_scalar(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        total = state["sum"]
        total.addcmul_(grad, grad, value=1)
        root = total.sqrt() + group["eps"] if group["differentiable"] else total.sqrt().add_(group["eps"])
        param.addcdiv_(grad, root, value=-size)
