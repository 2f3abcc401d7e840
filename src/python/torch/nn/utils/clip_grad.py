"""Gradients clipped by norm or by value."""

import torch

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "get_total_norm", "clip_grads_with_norm_"]


def _listed(tensors):
    return [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)


def _grads(parameters):
    return [p.grad for p in parameters if p.grad is not None]


def _groups(tensors):
    """Tensors of one device and dtype together."""
    groups = {}
    for tensor in tensors:
        groups.setdefault((tensor.device, tensor.dtype), []).append(tensor)
    return groups.values()


def _is_together(tensors, foreach):
    """Whether the operators on lists of tensors serve for a group."""
    kind = tensors[0].device.type
    if foreach and kind not in ("cpu", "cuda"):
        raise RuntimeError(f"foreach=True was passed, but can't use the foreach API on {kind} tensors")
    plain = all(type(tensor) in (torch.Tensor, torch.nn.Parameter) for tensor in tensors)
    return foreach or foreach is None and kind in ("cpu", "cuda") and plain


@torch.no_grad()
def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors together: the norm of their norms."""
    tensors = _listed(tensors)
    norm_type = float(norm_type)
    if len(tensors) == 0:
        return torch.tensor(0.0)
    first = tensors[0].device
    norms = []
    for group in _groups(tensors):
        if _is_together(group, foreach):
            norms.extend(torch._foreach_norm(group, norm_type))
        else:
            norms.extend([torch.linalg.vector_norm(tensor, norm_type) for tensor in group])
    total = torch.linalg.vector_norm(torch.stack([norm.to(first) for norm in norms]), norm_type)
    if error_if_nonfinite and torch.logical_or(total.isnan(), total.isinf()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


@torch.no_grad()
def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales gradients so that a total norm known already is at most `max_norm`."""
    grads = _grads(_listed(parameters))
    if len(grads) == 0:
        return
    factor = torch.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    for group in _groups(grads):
        own = factor.to(group[0].device)
        if _is_together(group, foreach):
            torch._foreach_mul_(group, own)
        else:
            for grad in group:
                grad.mul_(own)


@torch.no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales gradients so that their total norm is at most `max_norm`; gives the norm before."""
    is_generator = hasattr(parameters, "gi_frame")
    parameters = _listed(parameters)
    if is_generator and len(parameters) == 0:
        import warnings

        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    total = get_total_norm(_grads(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The older name of `clip_grad_norm_`."""
    import warnings

    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@torch.no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Clamps gradients to [-clip_value, clip_value]."""
    clip_value = float(clip_value)
    for group in _groups(_grads(_listed(parameters))):
        if _is_together(group, foreach):
            torch._foreach_clamp_min_(group, -clip_value)
            torch._foreach_clamp_max_(group, clip_value)
        else:
            for grad in group:
                grad.clamp_(min=-clip_value, max=clip_value)
