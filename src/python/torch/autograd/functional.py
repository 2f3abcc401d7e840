"""Derivatives of functions: vjp, jvp, vhp, hvp, jacobian, hessian."""

import torch
from torch.autograd import grad

__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]


def _as_tuple(value, argument, function):
    """The tensors as a tuple, and whether they were one."""
    is_tuple = isinstance(value, tuple)
    result = value if is_tuple else (value,)
    for place, one in enumerate(result):
        if not isinstance(one, torch.Tensor):
            if is_tuple:
                raise TypeError(
                    f"The {argument} given to {function} must be either a Tensor or a tuple of Tensors but the value at index "
                    f"{place} has type {type(one)}."
                )
            raise TypeError(
                f"The {argument} given to {function} must be either a Tensor or a tuple of Tensors but the given {argument} has "
                f"type {type(one)}."
            )
    return result, is_tuple


def _outputs_of(func, inputs, function, strict=False):
    outputs, is_tuple = _as_tuple(func(*inputs), "outputs of the user-provided function", function)
    for place, one in enumerate(outputs):
        if strict and not one.requires_grad:
            raise RuntimeError(
                f"Output {place} of the user-provided function does not require gradients. The outputs must be computed in a "
                "differentiable manner from the input when running in strict mode."
            )
    return outputs, is_tuple


def _plain(values, is_tuple):
    return tuple(values) if is_tuple else values[0]


def _prepare(inputs, create_graph):
    """Inputs to differentiate with respect to."""
    if create_graph:
        return tuple(one.view_as(one) if one.requires_grad else one.detach().requires_grad_() for one in inputs)
    return tuple(one.detach().requires_grad_() for one in inputs)


def _finish(values, create_graph):
    return tuple(values) if create_graph else tuple(one.detach() for one in values)


def _check_v(v, other, is_other_tuple, function):
    if v is None:
        if len(other) != 1 or other[0].nelement() != 1:
            raise RuntimeError(
                "The vector v can only be None if the input to the user-provided function is a single Tensor with a single "
                "element."
                if function in ("jvp", "hvp", "vhp")
                else "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
            )
        return tuple(torch.ones_like(one) for one in other)
    v, _ = _as_tuple(v, "v", function)
    if len(v) != len(other):
        if is_other_tuple:
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(other)} but got {len(v)}."
            )
        raise RuntimeError("The given v should contain a single Tensor.")
    for place, (one, like) in enumerate(zip(v, other)):
        if one.size() != like.size():
            prepend = f"Entry {place} in " if is_other_tuple else ""
            raise RuntimeError(
                f"{prepend}v has invalid size: should be {like.size()} but got {one.size()}."
            )
    return v


def _grad(outputs, inputs, grad_outputs=None, create_graph=False, retain_graph=None):
    """Like `grad`, for outputs that may not need gradients: None where there is no path."""
    chosen = [
        (out, one)
        for out, one in zip(outputs, grad_outputs or (None,) * len(outputs))
        if out is not None and out.requires_grad
    ]
    if not chosen:
        return (None,) * len(inputs)
    return grad(
        [out for out, _ in chosen],
        inputs,
        [one for _, one in chosen],
        allow_unused=True,
        create_graph=create_graph,
        retain_graph=retain_graph,
    )


def _filled(grads, likes, strict, message):
    result = []
    for place, (one, like) in enumerate(zip(grads, likes)):
        if one is None:
            if strict:
                raise RuntimeError(message(place))
            one = torch.zeros_like(like)
        result.append(one)
    return tuple(result)


def _independent(place):
    return f"The output of the user-provided function is independent of input {place}. This is not allowed in strict mode."


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """The function's result, and the product of `v` with its Jacobian."""
    with torch.enable_grad():
        inputs, is_inputs_tuple = _as_tuple(inputs, "inputs", "vjp")
        inputs = _prepare(inputs, create_graph)
        outputs, is_outputs_tuple = _outputs_of(func, inputs, "vjp", strict)
        v = _check_v(v, outputs, is_outputs_tuple, "vjp")
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        result = _filled(
            _grad(outputs, inputs, v, create_graph=create_graph), inputs, strict, _independent
        )
    outputs, result = _finish(outputs, create_graph), _finish(result, create_graph)
    return _plain(outputs, is_outputs_tuple), _plain(result, is_inputs_tuple)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """The function's result, and the product of its Jacobian with `v`; by differentiating the vjp."""
    with torch.enable_grad():
        inputs, is_inputs_tuple = _as_tuple(inputs, "inputs", "jvp")
        inputs = _prepare(inputs, create_graph)
        v = _check_v(v, inputs, is_inputs_tuple, "jvp")
        outputs, is_outputs_tuple = _outputs_of(func, inputs, "jvp", strict)
        weights = tuple(torch.zeros_like(out, requires_grad=True) for out in outputs)
        products = _filled(
            _grad(outputs, inputs, weights, create_graph=True), inputs, strict, _independent
        )
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        result = _filled(
            _grad(products, weights, v, create_graph=create_graph), outputs, strict, _independent
        )
    outputs, result = _finish(outputs, create_graph), _finish(result, create_graph)
    return _plain(outputs, is_outputs_tuple), _plain(result, is_outputs_tuple)


def jacobian(
    func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"
):
    """The Jacobian, row by row."""
    with torch.enable_grad():
        inputs, is_inputs_tuple = _as_tuple(inputs, "inputs", "jacobian")
        inputs = _prepare(inputs, create_graph)
        outputs, is_outputs_tuple = _outputs_of(func, inputs, "jacobian", strict)
        rows_of_outputs = []
        for out in outputs:
            rows = [[] for _ in inputs]
            for place in range(out.nelement()):
                found = _grad(
                    (out.reshape(-1)[place],), inputs, retain_graph=True, create_graph=create_graph
                )
                for column, one in zip(rows, _filled(found, inputs, strict, _independent)):
                    column.append(one)
            rows_of_outputs.append(
                tuple(
                    torch.stack(column, dim=0).view(out.size() + one.size())
                    if column
                    else one.new_zeros(out.size() + one.size())
                    for column, one in zip(rows, inputs)
                )
            )
    result = [_finish(row, create_graph) for row in rows_of_outputs]
    return _plain([_plain(row, is_inputs_tuple) for row in result], is_outputs_tuple)


def _scalar(func, inputs, function, strict=False):
    outputs, is_tuple = _outputs_of(func, inputs, function, strict)
    if is_tuple or not isinstance(outputs[0], torch.Tensor):
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].nelement() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")
    return outputs[0]


def hessian(
    func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"
):
    """The Hessian of a scalar function."""
    inputs, is_inputs_tuple = _as_tuple(inputs, "inputs", "hessian")

    def gradient(*values):
        value = _scalar(func, values, "hessian", strict).squeeze()
        return _filled(_grad((value,), values, create_graph=True), values, strict, _independent)

    result = jacobian(gradient, inputs, create_graph=create_graph, strict=strict)
    return _plain([_plain(row, is_inputs_tuple) for row in result], is_inputs_tuple)


def _twice(func, inputs, v, create_graph, strict, function):
    inputs, is_inputs_tuple = _as_tuple(inputs, "inputs", function)
    inputs = _prepare(inputs, create_graph)
    v = _check_v(v, inputs, is_inputs_tuple, function)
    output = _scalar(func, inputs, function, strict)
    slopes = _filled(_grad((output,), inputs, create_graph=True), inputs, strict, _independent)
    return inputs, is_inputs_tuple, v, output, slopes


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """The scalar function's result, and the product of `v` with its Hessian."""
    with torch.enable_grad():
        inputs, is_inputs_tuple, v, output, slopes = _twice(func, inputs, v, create_graph, strict, "vhp")
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        found = _grad(slopes, inputs, v, create_graph=create_graph)
        result = _filled(found, inputs, strict, _independent)
    return _finish((output,), create_graph)[0], _plain(_finish(result, create_graph), is_inputs_tuple)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """The scalar function's result, and the product of its Hessian with `v`."""
    with torch.enable_grad():
        inputs, is_inputs_tuple, v, output, slopes = _twice(func, inputs, v, create_graph, strict, "hvp")
        weights = tuple(torch.zeros_like(one, requires_grad=True) for one in inputs)
        double = _filled(_grad(slopes, inputs, weights, create_graph=True), inputs, strict, _independent)
    with torch.set_grad_enabled(create_graph or torch.is_grad_enabled()):
        found = _grad(double, weights, v, create_graph=create_graph)
        result = _filled(found, inputs, strict, _independent)
    return _finish((output,), create_graph)[0], _plain(_finish(result, create_graph), is_inputs_tuple)
