"""`torch.library.opcheck`: whether what a script says of an operator of its own fits together."""

import torch
from torch import _native_library as _native

TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


class OpCheckError(Exception):
    """What a check found."""


class MetadataMismatchError(Exception):
    """A result does not look as it was said to."""


def _map(values, change):
    if isinstance(values, torch.Tensor):
        return change(values)
    if isinstance(values, (list, tuple)):
        return type(values)(_map(one, change) for one in values)
    if isinstance(values, dict):
        return {key: _map(one, change) for key, one in values.items()}
    return values


def _copy(tensor):
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _flat(values):
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, (list, tuple)):
        for one in values:
            yield from _flat(one)
    elif isinstance(values, dict):
        yield from _flat(list(values.values()))


def _schema(op, args, kwargs):
    """What the operator writes to is what its signature says."""
    args, kwargs = _map((args, kwargs), lambda tensor: tensor.detach().clone())
    before = _map((args, kwargs), lambda tensor: tensor.clone())
    op(*args, **kwargs)
    for place, argument in enumerate(op._schema.arguments):
        given = (args[place], before[0][place]) if place < len(args) else (kwargs.get(argument.name), before[1].get(argument.name))
        written = any(not torch.equal(now, then) for now, then in zip(_flat(given[0]), _flat(given[1])))
        if written and not (argument.alias_info is not None and argument.alias_info.is_write):
            raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")


def _autograd_registration(op, args, kwargs):
    """Gradients come from a registration for autograd."""
    if not any(tensor.requires_grad for tensor in _flat((args, kwargs))) or op._schema.is_mutable:
        return
    if not _native.is_implemented(op, "autograd") and not _native.is_implemented(op, "composite"):
        raise AssertionError(
            f"{op} was given tensors that require grad, and nothing was registered for autograd. Please register it with "
            f"torch.library.register_autograd, or under the key Autograd or CompositeImplicitAutograd."
        )


def _differences(here, there):
    for one, other in zip(_flat(here), _flat(there)):
        if one.dtype != other.dtype or one.shape != other.shape or one.stride() != other.stride():
            yield (
                f"{tuple(one.shape)} {one.stride()} {one.dtype} and {tuple(other.shape)} {other.stride()} {other.dtype}"
            )


def _faketensor(op, args, kwargs):
    """What is said of the results' looks is true."""
    real = op(*_map(args, _copy), **_map(kwargs, _copy))
    fake = _native.fake_results(op, tuple(_map(args, _copy)), _map(kwargs, _copy))
    for difference in _differences(real, fake):
        raise MetadataMismatchError(f"A result and what the fake implementation says of it differ: {difference}")


def _aot_dispatch(op, args, kwargs):
    """Compiled with sizes that vary, it computes the same, gradients too."""

    def run(function):
        inputs, keywords = _map((args, kwargs), _copy)
        out = function(*inputs, **keywords)
        wanted = [tensor for tensor in _flat(out) if tensor.requires_grad]
        leaves = [tensor for tensor in _flat((inputs, keywords)) if tensor.requires_grad]
        grads = torch.autograd.grad([one.sum() for one in wanted], leaves, allow_unused=True) if wanted and leaves else ()
        return list(_flat(out)) + [grad for grad in grads if grad is not None]

    # The operator writes to tensors that do not require grad, or to none.
    compiled = torch.compile(lambda *args, **kwargs: op(*args, **kwargs), backend="aot_eager", dynamic=True)
    for eager, traced in zip(run(op), run(compiled)):
        torch.testing.assert_close(traced, eager)


_CHECKS = dict(zip(TESTS, (_schema, _autograd_registration, _faketensor, _aot_dispatch)))


def opcheck(op, args, kwargs=None, *, test_utils=TESTS, raise_exception=True, atol=None, rtol=None):
    """Runs the checks; gives what each said."""
    from torch._arguments import unobeyed

    unobeyed("opcheck", atol=(atol, None), rtol=(rtol, None))
    from torch._library.custom_ops import CustomOpDef

    if isinstance(op, CustomOpDef):
        op = op._opoverload
    elif isinstance(op, torch._ops.OpOverloadPacket):
        op = op.default
    if op.namespace in ("aten", "prims"):
        raise ValueError(f"opcheck(op, ...): op must be an operator of the script's own, got {op}")
    wanted = (test_utils,) if isinstance(test_utils, str) else test_utils
    unknown = set(wanted) - set(TESTS)
    if unknown:
        raise ValueError(f"opcheck(op, ..., test_utils={test_utils}), expected test_utils to be subset of {TESTS} but it was not")
    results = {}
    for name in wanted:
        try:
            _CHECKS[name](op, args, kwargs or {})
            results[name] = "SUCCESS"
        except Exception as failure:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {failure} (scroll up for stack trace)") from failure
            results[name] = failure
    return results
