"""Derivatives compared with finite differences."""

import torch
from torch._arguments import unobeyed

__all__ = ["gradcheck", "gradgradcheck", "GradcheckError"]


class GradcheckError(RuntimeError):
    """Analytical and numerical derivatives differ."""


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return (value,)
    return tuple(one for one in value if isinstance(one, torch.Tensor))


def _numerical(func, inputs, target, eps):
    """One Jacobian per output: rows are elements of `target`, columns those of the output."""
    flat = target.data.view(-1) if target.is_contiguous() else None
    jacobians = None
    for row in range(target.numel()):
        place = row if flat is not None else tuple(int(i) for i in torch.unravel_index(torch.tensor(row), target.shape))
        values = flat if flat is not None else target.data
        before = values[place].item()
        sides = []
        for step in (eps, -eps):
            values[place] = before + step
            sides.append([one.detach().clone() for one in _tensors(func(*inputs))])
        values[place] = before
        slopes = [(high - low) / (2 * eps) for high, low in zip(*sides)]
        if jacobians is None:
            jacobians = [torch.zeros(target.numel(), one.numel(), dtype=one.dtype) for one in slopes]
        for jacobian, slope in zip(jacobians, slopes):
            jacobian[row] = slope.reshape(-1)
    return jacobians


def _analytical(output, target):
    jacobian = torch.zeros(target.numel(), output.numel(), dtype=target.dtype)
    for column in range(output.numel()):
        weights = torch.zeros_like(output, memory_format=torch.contiguous_format)
        weights.view(-1)[column] = 1
        (found,) = torch.autograd.grad(output, target, weights, retain_graph=True, allow_unused=True)
        if found is not None:
            jacobian[:, column] = found.reshape(-1)
    return jacobian


def gradcheck(
    func,
    inputs,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_batched_forward_grad=False,
    check_forward_ad=False,
    check_backward_ad=True,
    fast_mode=False,
    masked=None,
):
    """Whether the gradients of `func` at `inputs` agree with finite differences."""
    unobeyed("gradcheck", check_batched_grad=(check_batched_grad, False), check_forward_ad=(check_forward_ad, False))
    unobeyed("gradcheck", check_batched_forward_grad=(check_batched_forward_grad, False), masked=(masked, None))
    unobeyed("gradcheck", check_grad_dtypes=(check_grad_dtypes, False), check_backward_ad=(check_backward_ad, True))
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    if not any(isinstance(one, torch.Tensor) and one.requires_grad for one in inputs):
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")
    if any(isinstance(one, torch.Tensor) and one.requires_grad and one.is_complex() for one in inputs):
        raise NotImplementedError("gradcheck: complex inputs are not supported in the playground")
    outputs = _tensors(func(*inputs))
    wanted = [
        (place, one) for place, one in enumerate(inputs) if isinstance(one, torch.Tensor) and one.requires_grad
    ]
    differentiable = [place for place, one in enumerate(outputs) if one.requires_grad]
    for place, target in wanted:
        slopes = _numerical(func, inputs, target, eps)
        if not differentiable:
            floats = [slope for slope, one in zip(slopes, outputs) if one.is_floating_point() or one.is_complex()]
            if any(slope.count_nonzero() for slope in floats):
                if not raise_exception:
                    return False
                raise GradcheckError("Numerical gradient for function expected to be zero")
            continue
        for number, index in enumerate(differentiable):
            output, numerical = outputs[index], slopes[index]
            analytical = _analytical(output, target)
            if not torch.allclose(analytical, numerical.to(analytical.dtype), rtol, atol):
                if not raise_exception:
                    return False
                raise GradcheckError(
                    f"Jacobian mismatch for output {number} with respect to input {place},\nnumerical:{numerical}\n"
                    f"analytical:{analytical}\n"
                )
    return True


def gradgradcheck(func, inputs, grad_outputs=None, **options):
    """Whether the gradients of the gradients of `func` agree with finite differences."""
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    outputs = _tensors(func(*inputs))
    if grad_outputs is None:
        grad_outputs = tuple(
            torch.rand(one.shape, dtype=one.dtype).mul_(0.5).add_(0.25).requires_grad_() for one in outputs
        )
    else:
        grad_outputs = _tensors(grad_outputs)
    count = len(grad_outputs)

    def gradients(*args):
        values, weights = args[:-count], args[-count:]
        wanted = [one for one in values if isinstance(one, torch.Tensor) and one.requires_grad]
        found = torch.autograd.grad(
            _tensors(func(*values)), wanted, weights, create_graph=True, allow_unused=True
        )
        return tuple(one for one in found if one is not None)

    options.pop("gen_non_contig_grad_outputs", None)
    return gradcheck(gradients, (*inputs, *grad_outputs), **options)
