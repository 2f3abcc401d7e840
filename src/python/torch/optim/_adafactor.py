"""Adafactor: second moments kept as rows and columns."""

import torch
from torch.optim.optimizer import PerParameter, _counter, _to_scalar

__all__ = ["Adafactor"]


def _require(name, value, least=None, most=None):
    """Raises where a setting is beyond its bound, or no number."""
    if least is not None and not least <= value:
        raise ValueError(f"{name} should be >= {least:g} but is: {value}")
    if most is not None and not most >= value:
        raise ValueError(f"{name} should be <= {most:g} but is: {value}")


class Adafactor(PerParameter):
    """Adam-like, with factored second moments."""

    def __init__(
        self,
        params,
        lr=1e-2,
        beta2_decay=-0.8,
        eps=(None, 1e-3),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        _require("Learning rate", lr, least=0.0)
        _require("beta2_decay", beta2_decay, most=0.0)
        if eps[0] is not None:
            _require("epsilon1", eps[0], least=0.0)
        _require("epsilon2", eps[1], least=0.0)
        _require("Clipping threshold d", d, least=1.0)
        _require("weight_decay", weight_decay, least=0.0)
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _start(self, param, group):
        if torch.is_complex(param):
            raise RuntimeError("Adafactor does not support complex parameters")
        grad = param.grad
        if grad.dim() <= 1:
            return {"step": _counter(), "variance": torch.zeros_like(grad, memory_format=torch.preserve_format)}
        rows, columns = list(grad.shape), list(grad.shape)
        rows[-1] = columns[-2] = 1
        return {"step": _counter(), "row_var": grad.new_zeros(rows), "col_var": grad.new_zeros(columns)}

    def _update(self, param, grad, state, group):
        lr = _to_scalar(group["lr"])
        eps1, eps2 = group["eps"]
        if eps1 is None:
            eps1 = torch.finfo(param.dtype).eps
        state["step"] += 1
        step = state["step"].item()
        weight = step ** group["beta2_decay"]
        size = max(eps2, param.norm(2).item() / (param.numel() ** 0.5)) * min(lr, 1 / (step**0.5))
        if group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])
        if grad.dim() > 1:
            rows, columns = state["row_var"], state["col_var"]
            for variance, dim in ((rows, -1), (columns, -2)):
                norm = torch.linalg.vector_norm(grad, dim=dim, keepdim=True)
                variance.lerp_(norm.square_().div_(grad.size(dim)), weight)
            estimate = rows @ columns
            estimate.div_(rows.mean(dim=-2, keepdim=True).clamp_(min=eps1))
        else:
            state["variance"].lerp_(grad * grad, weight)
            estimate = state["variance"].clone()
        update = estimate.clamp_(min=eps1 * eps1).rsqrt_()
        update.mul_(grad)
        clip = max(1.0, update.norm(2).item() / ((update.numel() ** 0.5) * group["d"]))
        param.add_(update, alpha=-size / clip)
