"""Adafactor: second moments kept as rows and columns."""

import torch
from torch.optim.optimizer import PerParameter, _counter, _to_scalar

__all__ = ["Adafactor"]


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
        if not 0.0 <= lr:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
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
