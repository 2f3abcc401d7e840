"""`torch.autograd`: `backward` and `grad`; the other parts are read when first used."""

import sys

import torch
from torch import _C, _native_compile, _native_transforms
from torch.overrides import is_tensor_like

__all__ = ["Variable", "Function", "backward", "grad_mode", "grad", "gradcheck", "gradgradcheck", "enable_grad", "no_grad"]

_PARTS = {
    "function": "Function NestedIOFunction",
    "grad_mode": "no_grad enable_grad set_grad_enabled inference_mode set_multithreading_enabled",
    "gradcheck": "gradcheck gradgradcheck",
    "anomaly_mode": "detect_anomaly set_detect_anomaly",
}
_HOME = {name: part for part, names in _PARTS.items() for name in names.split()}
_SUBMODULES = (
    "anomaly_mode", "forward_ad", "function", "functional", "grad_mode", "graph", "profiler", "variable",
)  # fmt: skip


def __getattr__(name):
    part = _HOME.get(name)
    if part is not None:
        value = getattr(__import__(f"torch.autograd.{part}", fromlist=[name]), name)
    elif name == "Variable":
        from torch.autograd.variable import Variable as value
    elif name in _SUBMODULES:
        return __import__(f"torch.autograd.{name}", fromlist=["_"])
    else:
        from torch._absent import attribute_error

        raise attribute_error("torch.autograd", name)
    globals()[name] = value
    return value


def _run_backward(*args):
    """Runs the engine, or what was compiled of it."""
    compiled = sys.modules.get("torch._dynamo.compiled_autograd")
    if compiled is not None and compiled.compiled_autograd_enabled:
        return compiled._run_backward(*args)
    return _C._run_backward(*args)


def _is_edge(value):
    return type(value).__name__ == "GradientEdge"


def _make_grads(outputs, grads, is_grads_batched):
    """The gradients of the outputs: checked, or ones where none is given for a scalar."""
    result = []
    for out, grad in zip(outputs, grads):
        if grad is None:
            if not _is_edge(out) and not out.requires_grad:
                result.append(None)
                continue
            result.append(_ones(out))
            continue
        if not isinstance(grad, torch.Tensor):
            raise TypeError("gradients can be either Tensors or None, but got " + type(grad).__name__)
        if not _is_edge(out):
            _check_grad(out, grad, outputs, grads, is_grads_batched)
        result.append(grad)
    return tuple(result)


def _ones(out):
    if _is_edge(out):
        out = out.node._input_metadata[out.output_nr]
        if any(extent != 1 for extent in out.shape):
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return torch.ones(out.shape, dtype=out.dtype, device=out.device)
    if out.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not out.dtype.is_floating_point:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
    # What the engine starts from is no part of a graph that was captured.
    with _native_compile._suspended():
        return torch.ones_like(out, memory_format=torch.preserve_format)


def _check_grad(out, grad, outputs, grads, is_grads_batched):
    place = next(index for index, one in enumerate(grads) if one is grad)
    out_place = next(index for index, one in enumerate(outputs) if one is out)
    shape = grad.shape[1:] if is_grads_batched else grad.shape
    if out.shape != shape:
        if is_grads_batched:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
                "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
                f"detected: grad_output[{place}] has a shape of {shape} and output[{out_place}] has a shape of {out.shape}. If "
                "you only want some tensors in `grad_output` to be considered batched, consider using vmap."
            )
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{place}] has a shape of {shape} and output[{out_place}] has a shape of "
            f"{out.shape}."
        )
    if out.dtype.is_complex != grad.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{place}] has a dtype of {grad.dtype} and output[{out_place}] has a dtype of {out.dtype}."
        )


def _is_checkpoint_valid():
    return _C._is_checkpoint_valid()


def _tuple_of(tensors):
    return (tensors,) if is_tensor_like(tensors) or _is_edge(tensors) else tuple(tensors)


def _inputs_tuple(inputs, function):
    if type(inputs) is dict:
        return tuple(inputs.values())
    if not is_tensor_like(inputs) and hasattr(inputs, "keys"):
        raise TypeError(
            f"`inputs` argument to `{function}()` must be a dict, not {type(inputs).__name__}. Other Mapping types are not "
            "supported."
        )
    result = _tuple_of(inputs)
    if len(result) == 0:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    return result


def _grad_tuple(grads, count):
    if grads is None:
        return (None,) * count
    return (grads,) if isinstance(grads, torch.Tensor) else tuple(grads)


def backward(
    tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None
):
    """Adds to the leaves' `.grad` the gradients of the sum of `tensors`, weighted by `grad_tensors`."""
    if _native_compile._is_compiling():
        _native_compile._graph_break("backward")
        # What the engine does is no part of a graph; hooks that it calls, and functions of a script's own, are frames of their own.
        with _native_compile._skipped():
            return _backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
    return _backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)


def _backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs):
    if _native_transforms.are_active():
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )
    if grad_variables is not None:
        import warnings

        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=3
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
                "`grad_tensors`."
            )
        grad_tensors = grad_variables
    inputs = () if inputs is None else _inputs_tuple(inputs, "backward")
    tensors = _tuple_of(tensors)
    grads = _make_grads(tensors, _grad_tuple(grad_tensors, len(tensors)), False)
    if retain_graph is None:
        retain_graph = create_graph
    _run_backward(tensors, grads, retain_graph, create_graph, inputs, True, True)


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """The gradients of the sum of `outputs`, weighted by `grad_outputs`, with respect to `inputs`."""
    if _native_compile._is_compiling():
        _native_compile._break_at_grad(list(_inputs_tuple(inputs, "grad")))
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    if not only_inputs:
        import warnings

        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts "
            "of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    outputs = _tuple_of(outputs)
    wanted = _inputs_tuple(inputs, "grad")
    grads = _make_grads(outputs, _grad_tuple(grad_outputs, len(outputs)), is_grads_batched)
    if retain_graph is None:
        retain_graph = create_graph

    def run(grads, more_rows=False):
        return _run_backward(outputs, grads, retain_graph, create_graph, wanted, allow_unused, False, more_rows)

    if is_grads_batched:
        count = next(one for one in grads if one is not None).shape[0]
        rows = [
            run([None if one is None else one[row] for one in grads], more_rows=row + 1 < count)
            for row in range(count)
        ]
        result = tuple(None if column[0] is None else torch.stack(column) for column in zip(*rows))
    else:
        result = tuple(run(grads))
    if materialize_grads:
        result = tuple(
            torch.zeros_like(tensor).requires_grad_(create_graph) if one is None else one
            for one, tensor in zip(result, wanted)
        )
    return _native_compile._returned(dict(zip(inputs.keys(), result)) if type(inputs) is dict else result)
