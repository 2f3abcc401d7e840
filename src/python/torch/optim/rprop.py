"""Resilient backpropagation."""

import torch
from torch.optim.optimizer import PerParameter, _check_options, _get_scalar_dtype, _in_graph, _to_scalar, _zeros

__all__ = ["Rprop"]


class Rprop(PerParameter):
    """Step sizes of their own for all elements, by the gradients' signs."""

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        _check_options(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, param, group):
        lr = _to_scalar(group["lr"])
        return {
            "step": torch.zeros((), dtype=_get_scalar_dtype()),
            "prev": _zeros(param),
            "step_size": torch.full_like(param.grad, complex(lr, lr) if torch.is_complex(param) else lr),
        }

    def _update(self, param, grad, state, group):
        smaller, larger = group["etas"]
        previous, size = state["prev"], state["step_size"]
        state["step"] += 1
        factor = grad.mul(previous.clone() if group["differentiable"] else previous).sign()
        in_graph = _in_graph(group)

        def put(where, value, target):
            if in_graph:
                target.copy_(torch.where(where, value, target))
            else:
                target[where] = value

        put(factor.gt(0), larger, factor)
        put(factor.lt(0), smaller, factor)
        put(factor.eq(0), 1, factor)
        size.mul_(factor).clamp_(*group["step_sizes"])
        grad = grad.clone(memory_format=torch.preserve_format)
        put(factor.eq(smaller), 0, grad)
        param.addcmul_(grad.sign(), size, value=-1)
        previous.copy_(grad)
