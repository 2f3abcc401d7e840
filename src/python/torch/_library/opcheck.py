"""`torch.library.opcheck`: whether what a script says of an operator of its own fits together."""

import torch
from torch import _native_library as _native
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map_only, tree_unflatten


class OpCheckError(Exception):
    """What a check found."""


class MetadataMismatchError(Exception):
    """A result does not look as it was said to."""


OpCheckError.__module__ = "torch.testing._internal.optests.generate_tests"
MetadataMismatchError.__module__ = "torch._subclasses.fake_utils"


def _copied(values):
    return tree_map_only(torch.Tensor, lambda t: t.detach().clone().requires_grad_(t.requires_grad), values)


def _tensors(values):
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def _schema(op, args, kwargs, **_):
    """What the operator writes to is what its signature says."""
    args, kwargs = tree_map_only(torch.Tensor, lambda t: t.detach().clone(), (args, kwargs))
    before = tree_map_only(torch.Tensor, torch.Tensor.clone, (args, kwargs))
    op(*args, **kwargs)
    for place, argument in enumerate(op._schema.arguments):
        given = (args[place], before[0][place]) if place < len(args) else (kwargs.get(argument.name), before[1].get(argument.name))
        written = any(not torch.equal(now, then) for now, then in zip(_tensors(given[0]), _tensors(given[1])))
        if written and not (argument.alias_info is not None and argument.alias_info.is_write):
            raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")


def _autograd_registration(op, args, kwargs, **_):
    """Gradients come from a registration for autograd."""
    args, kwargs = _copied((args, kwargs))
    inputs = _tensors((args, kwargs))
    if not any(t.requires_grad for t in inputs) or op.namespace in ("aten", "prims"):
        return
    if _native.is_implemented(op, "autograd") or _native.is_implemented(op, "composite"):
        return
    results = [t for t in _tensors(op(*args, **kwargs)) if all(t is not given for given in inputs)]
    # Of what nobody registered, autograd itself notes that it cannot be differentiated.
    if any(t.requires_grad and not type(t.grad_fn).__name__.startswith(("WarnNotImplemented", "NotImplemented")) for t in results):
        raise AssertionError(
            f"{op.name()}: at least one output of this operator has requires_grad=True but the operator does not have an autograd kernel "
            "defined at an autograd key (e.g. DispatchKey::Autograd). This could mean that you have incorrectly registered an autograd "
            "kernel to a non-Autograd DispatchKey, which may lead to silently incorrect results. If your operator consists of regular "
            "PyTorch operations, consider not using an operator at all or registering your operator as CompositeImplicitAutograd. If you "
            "have an autograd.Function registered to a backend (CPU/CUDA/XPU) key, the correct location for it is the Autograd key."
        )


def _check_looks(real, fake):
    if real.requires_grad != fake.requires_grad:
        raise MetadataMismatchError(
            " mismatched requires_grad-ness of outputs. This usually means that you have added autograd support for your operator at a "
            "dispatch key other than Autograd, which will lead to problems"
        )
    if real.storage_offset() != fake.storage_offset():
        raise MetadataMismatchError(" mismatched storage offset")
    known = [type(n) is int for n in fake.shape]
    if len(real.shape) != len(fake.shape) or any(is_known and a != b for a, b, is_known in zip(real.shape, fake.shape, known)):
        raise AssertionError(f"Shapes {real.shape} and {fake.shape} are not equal!")
    for what, a, b in (("Dtypes", real.dtype, fake.dtype), ("Devices", real.device, fake.device)):
        if a != b:
            raise AssertionError(f"{what} {a} and {b} are not equal!")
    for d, (a, b) in enumerate(zip(real.stride(), fake.stride())):
        if all(known) and real.numel() and real.shape[d] > 1 and a != b:
            raise RuntimeError(f"Stride mismatch! Strides are {real.stride()} and {fake.stride()} (mismatched at {d})!")


def _faketensor(op, args, kwargs, **_):
    """What is said of the results' looks is true."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    if op.namespace in ("aten", "prims"):
        return
    args, kwargs = _copied((args, kwargs))
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        given, named = tree_map_only(torch.Tensor, lambda t: mode.from_tensor(t, static_shapes=True), (args, kwargs))
        fake = tree_leaves(op(*given, **named))
    real = tree_leaves(op(*args, **kwargs))
    context = f"When comparing the output of {op} on FakeTensor and concrete Tensors, found"
    if len(fake) != len(real):
        raise AssertionError(f"{context} mismatch in number of returns {len(fake)} != {len(real)}")
    for i, (one, other) in enumerate(zip(real, fake)):
        if isinstance(one, torch.Tensor) != isinstance(other, torch.Tensor):
            raise AssertionError(f"{context} mismatched number of tensor outputs")
        if isinstance(one, torch.Tensor):
            try:
                _check_looks(one, other)
            except Exception as error:
                of = f" for output[{i}]" if len(real) > 1 else ""
                raise MetadataMismatchError(f"{context} mismatched tensor metadata{of}: {error}") from error


def _aot_dispatch(dynamic):
    def check(op, args, kwargs, rtol, atol):
        """What AOTAutograd traces of it computes the same, gradients too."""
        from torch._functorch.aot_autograd import aot_function

        flat, spec = tree_flatten((args, kwargs))
        places = [i for i, leaf in enumerate(flat) if isinstance(leaf, torch.Tensor)]

        def run(*tensors):
            leaves = dict(zip(places, tensors))
            given, named = tree_unflatten([leaves.get(i, leaf) for i, leaf in enumerate(flat)], spec)
            return op(*given, **named)

        def inputs():
            return _copied([flat[i] for i in places])

        def with_gradients(function):
            given = inputs()
            out = function(*given)
            total = sum(t.sum().abs() for t in _tensors(out))
            return out, torch.autograd.grad(total, [t for t in given if t.requires_grad], allow_unused=True)

        tolerances = {"rtol": rtol, "atol": atol} if rtol and atol else {}
        traced = aot_function(run, lambda graph, _: graph, lambda graph, _: graph, dynamic=dynamic, keep_inference_input_mutations=True)
        out = run(*inputs())
        needs_grad = any(t.requires_grad for t in _tensors(flat)) and any(t.requires_grad for t in _tensors(out))
        if not needs_grad:
            torch.testing.assert_close(traced(*inputs()), out, msg=_OUTPUTS, **tolerances)
            return
        eager_out, eager_grads = with_gradients(run)
        traced_out, traced_grads = with_gradients(traced)
        for one, other, message in ((traced_out, eager_out, _OUTPUTS), (traced_grads, eager_grads, _GRADIENTS)):
            try:
                torch.testing.assert_close(one, other, **tolerances)
            except Exception as error:
                raise type(error)(message) from error

    return check


_OUTPUTS = (
    "Outputs of the operator are different in eager-mode PyTorch vs AOTDispatcher tracing. This means the operator will have incorrect output "
    "underneath torch.compile. This could be because the operator's implementation not traceable."
)
_GRADIENTS = (
    "Gradients of the operator are different in eager-mode PyTorch vs AOTDispatcher. This means the operator will have incorrect gradients "
    "underneath torch.compile. This could be because the operator's backward is incorrectly registered or not traceable."
)
_CHECKS = {
    "test_schema": _schema, "test_autograd_registration": _autograd_registration, "test_faketensor": _faketensor,
    "test_aot_dispatch_static": _aot_dispatch(False), "test_aot_dispatch_dynamic": _aot_dispatch(True),
}  # fmt: skip
TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def opcheck(op, args, kwargs=None, *, test_utils=TESTS, raise_exception=True, rtol=None, atol=None):
    """Runs the checks; gives what each said."""
    from torch._library.custom_ops import CustomOpDef

    if (rtol is None) != (atol is None):
        raise ValueError("opcheck(op, ...): if you specify one of rtol/atol, you must specify both")
    if isinstance(op, CustomOpDef):
        op = op._opoverload
    elif isinstance(op, torch._ops.OpOverloadPacket):
        names = op.overloads()
        if len(names) != 1:
            told = ["" if name == "default" else name for name in names]
            qualified = op._qualified_op_name
            raise RuntimeError(f"opcheck can only test operators without overloads. Got the following overloads for {qualified}: {told}")
        op = getattr(op, names[0])
    if not isinstance(op, torch._ops.OpOverload):
        raise ValueError(f"opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got {type(op)}")
    test_utils = tuple(_CHECKS) if test_utils == "ALL" else (test_utils,) if isinstance(test_utils, str) else test_utils
    if not isinstance(test_utils, (tuple, list)) or not set(test_utils) <= set(_CHECKS):
        raise ValueError(
            f"opcheck(op, ..., test_utils={test_utils}), expected test_utils to be subset of {tuple(_CHECKS)} but it was not"
        )
    results = {}
    for name in test_utils:
        try:
            _CHECKS[name](op, args, kwargs or {}, rtol=rtol, atol=atol)
            results[name] = "SUCCESS"
        except Exception as failure:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {failure} (scroll up for stack trace)") from failure
            results[name] = failure
    return results
