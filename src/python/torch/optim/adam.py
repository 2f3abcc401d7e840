"""Adam."""

import torch
from torch.optim.optimizer import PerParameter, _check_options, _counter, _decayed, _in_graph, _move_moments, _to_scalar, _zeros

__all__ = ["Adam"]


class Adam(PerParameter):
    """Adaptive moments; with `decoupled_weight_decay`, AdamW."""

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        if isinstance(lr, torch.Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        _check_options(lr, eps=eps, betas=betas, weight_decay=weight_decay)
        kinds = {float if isinstance(beta, float) else torch.Tensor if isinstance(beta, torch.Tensor) else None for beta in betas}
        if len(kinds) != 1 or None in kinds:
            raise ValueError("betas must be either both floats or both Tensors")
        defaults = {
            "lr": lr,
            "betas": (_to_scalar(betas[0]), _to_scalar(betas[1])),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        if fused:
            if differentiable:
                raise RuntimeError("`fused` does not support `differentiable`")
            if foreach:
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def _check_gradient(self, grad):
        if grad.is_sparse:
            raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")

    def _start(self, param, group):
        state = {"step": _counter(), "exp_avg": _zeros(param), "exp_avg_sq": _zeros(param)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = _zeros(param)
        return state

    def _update(self, param, grad, state, group):
        lr, eps = _to_scalar(group["lr"]), group["eps"]
        beta1, beta2 = group["betas"]
        average, square = state["exp_avg"], state["exp_avg_sq"]
        state["step"] += 1
        grad = _decayed(param, grad, lr, group)
        _move_moments(average, square, grad, (beta1, beta2))
        in_graph = _in_graph(group)
        step = state["step"] if in_graph else state["step"].item()
        correction1 = 1 - beta1**step
        correction2 = 1 - beta2**step
        largest = state.get("max_exp_avg_sq")
        if in_graph:
            negative_size = (lr / correction1).neg()
            root2 = correction2.sqrt()
            if largest is not None:
                square = largest.copy_(torch.maximum(largest.clone() if group["differentiable"] else largest, square))
            denominator = (square.sqrt() / (root2 * negative_size)).add_(eps / negative_size)
            param.addcdiv_(average.clone() if group["differentiable"] else average, denominator)
            return
        size = lr / correction1
        if largest is not None:
            square = torch.maximum(largest, square, out=largest)
        denominator = (square.sqrt() / correction2**0.5).add_(eps)
        param.addcdiv_(average, denominator, value=-size)
