"""Calls of higher-order operators that a script defined: which of their functions answers one, from the top of dispatch down.

A call meets a tracer of programs that are exported, autograd, the script's modes, functionalization, the tracer at work, fake tensors,
classes of tensors, and at last the function that computes. Each sees the call where it is in force and not left already
(`torch._native_trace.state`); while it answers, it is left.
"""

import contextlib
import inspect

import torch
from torch import _native_fake, _native_trace, _native_transforms
from torch._keys import DispatchKey, Left, answers_operators, backend_of
from torch._functorch.pyfunctorch import TransformType
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, TracingFakeMode
from torch._subclasses.functional_tensor import (
    FunctionalizeInterpreter, FunctionalTensor, FunctionalTensorMode, FunctorchFunctionalizeAPI, PythonFunctionalizeAPI, TracingFunctionalMode,
)
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, handling
from torch.overrides import handle_torch_function, has_torch_function
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode, _pop_mode_temporarily
from torch.utils._pytree import arg_tree_leaves

_native_trace.serve()


def registered(op, k, fn):
    """Lets a function answer calls of `op` that come to a mode, a class of tensors, a transform or a key."""
    if inspect.isclass(k) and issubclass(k, (TorchDispatchMode, torch.Tensor)):
        if k in op.python_key_table:
            raise AssertionError(f"{k} already registered in python_key_table")
        op.python_key_table[k] = fn
    elif isinstance(k, TransformType):
        if k in op.functorch_table:
            raise AssertionError(f"{k} already registered in functorch_table")
        op.functorch_table[k] = fn
    elif not isinstance(k, DispatchKey):
        raise AssertionError(f"expected DispatchKey, got {type(k)}")
    elif k == DispatchKey.Python:
        raise AssertionError("Please register a mode for the DispatchKey.Python key instead.")
    elif k in op.py_kernels:
        raise RuntimeError(f"Trying to override a python impl for {k} on operator {op.name()}")
    else:
        op.py_kernels[k] = fn
    return fn


def registered_for_functionalization(op, fn):
    """The same for every kind of functionalization."""

    def of_mode(mode, *args, **kwargs):
        allowed = (torch.Tensor, torch.nn.Parameter, FakeTensor, FunctionalTensor)
        if any(isinstance(t, torch.Tensor) and type(t) not in allowed for t in arg_tree_leaves(*args, **kwargs)):
            return NotImplemented
        return fn(PythonFunctionalizeAPI(mode), *args, **kwargs)

    registered(op, FunctionalTensorMode, of_mode)
    registered(op, TransformType.Functionalize, lambda by, *args, **kwargs: fn(FunctorchFunctionalizeAPI(by), *args, **kwargs))
    return fn


def registered_for_autograd(op, fn):
    """The same where something has a derivative; other calls go on below autograd."""

    def answer(*args, **kwargs):
        tensors = [t for t in arg_tree_leaves(*args, **kwargs) if isinstance(t, torch.Tensor)]
        if not torch.is_grad_enabled() or not any(t.requires_grad for t in tensors):
            with Left("autograd"):
                return op(*args, **kwargs)
        has_schema = type(op).gen_schema is not torch._ops.HigherOrderOperator.gen_schema
        if has_schema and not op._supports_training_input_mutation:
            if any(arg.is_write for arg in op.gen_schema(*args, **kwargs).arguments):
                raise RuntimeError(
                    f"The {op.name()} HigherOrderOperator does not currently support training "
                    "with in-place input or buffer mutations "
                    "If you require this feature, please submit an issue to PyTorch. "
                    "Alternatively, consider creating your own custom autograd.Function. "
                )
        return fn(*args, **kwargs)

    registered(op, DispatchKey.Autograd, answer)
    return fn


def call(op, args, kwargs):
    """What a call comes to."""
    leaves = arg_tree_leaves(*args, **kwargs)
    if has_torch_function(leaves):
        return handle_torch_function(op, leaves, *args, **kwargs)
    tensors = [t for t in leaves if isinstance(t, torch.Tensor)]
    autograd, functional, recorded, is_fake = _native_trace.state()
    if any(_native_transforms._level_of(t) is not None for t in tensors):
        raise NotImplementedError(f"{op._name} on tensors of a torch.func transform is not available in the playground")
    if recorded == "pre_dispatch":
        return _by_tracer(op, args, kwargs, pre_dispatch=True)
    if autograd and any(not t.is_inference() for t in tensors):
        return _differentiated(op, backend_of(tensors[0]))(*args, **kwargs)
    mode = _get_current_dispatch_mode()
    if mode is not None:
        result = _by_mode(op, mode, args, kwargs)
    elif functional is not None:
        result = _by_functionalization(op, functional, args, kwargs)
    elif recorded is not None:
        result = _by_tracer(op, args, kwargs)
    elif is_fake or _native_fake.entered():
        result = _by_fake_mode(op, args, kwargs)
    else:
        return _by_classes(op, tensors, args, kwargs)
    if result is not NotImplemented:
        return result
    return _by_classes(op, tensors, args, kwargs, mode)


def _differentiated(op, backend):
    """What answers calls that are differentiated."""
    kernels, key = op.py_kernels, DispatchKey[f"Autograd{backend}"]
    has_own = DispatchKey[backend] in kernels or DispatchKey.CompositeExplicitAutograd in kernels
    for k in (key, None if has_own else DispatchKey.CompositeImplicitAutograd, DispatchKey.Autograd):
        if k in kernels:
            return kernels[k]
    raise NotImplementedError(f"could not find kernel for HigherOrderOperator {op._name} at dispatch key {key} (resolved from {key})")


def _computing(op, backend):
    """What answers calls that nothing above has answered."""
    composite = ("CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd", "CompositeImplicitAutograd")
    for name in (backend, *composite):
        if DispatchKey[name] in op.py_kernels:
            return op.py_kernels[DispatchKey[name]]
    raise NotImplementedError(f"could not find kernel for {op} at dispatch key {DispatchKey[backend]}")


def _no_rule(op, mode):
    return NotImplementedError(
        f"There was no rule registered for HigherOrderOperator {op._name} and mode {mode}."
        f"Hint: set {mode}'s supports_higher_order_operators to True."
        f" This causes all higher order operators to pass through {mode}'s __torch_dispatch__,"
        f" so handle them accordingly by"
        f" adding support for HigerOrderOperators (in this case, {op._name}) in"
        f" {mode}.__torch_dispatch__ or"
        f" returning NotImplemented when not supported."
    )


def _by_mode(op, mode, args, kwargs):
    """A mode of the script's answers by its rule, or by its `__torch_dispatch__` where it takes such operators."""
    rule = op.python_key_table.get(type(mode))
    if rule is None and not mode.supports_higher_order_operators:
        raise _no_rule(op, mode)
    with _pop_mode_temporarily():
        return mode.__torch_dispatch__(op, [], args, kwargs) if rule is None else rule(mode, *args, **kwargs)


def _by_functionalization(op, kind, args, kwargs):
    if kind in ("mode", "own"):
        by = TracingFunctionalMode() if kind == "mode" else FunctionalTensorMode()
        rule = op.python_key_table.get(FunctionalTensorMode)
        if rule is None:
            raise _no_rule(op, by)
    else:
        by = FunctionalizeInterpreter(kind == "views")
        rule = op.functorch_table[TransformType.Functionalize]
    with Left("functional"):
        return rule(by, *args, **kwargs)


def _by_tracer(op, args, kwargs, pre_dispatch=False):
    mode = ProxyTorchDispatchMode.at_work(pre_dispatch)
    rule = op.python_key_table.get(ProxyTorchDispatchMode)
    if rule is None and pre_dispatch:
        raise AssertionError(f"Current active mode {mode} not registered")
    if rule is None:
        raise _no_rule(op, mode)
    with handling(mode), Left(*["pre_dispatch"] * pre_dispatch, "proxy"):
        return rule(mode, *args, **kwargs)


def _by_fake_mode(op, args, kwargs):
    mode = fake_tensor._modes.get(_native_fake.entered()) or TracingFakeMode()
    rule = op.python_key_table.get(FakeTensorMode)
    if rule is None:
        raise _no_rule(op, mode)
    outside = contextlib.nullcontext() if isinstance(mode, TracingFakeMode) else fake_tensor.unset_fake_temporarily()
    with Left("fake"), outside:
        return rule(mode, *args, **kwargs)


def _by_classes(op, tensors, args, kwargs, mode=None):
    """Classes of tensors that answer operators themselves; where there are none, the call is computed."""
    asked = [t for t in tensors if isinstance(t, FakeTensor) or answers_operators(type(t))]
    for t in asked:
        is_fake = isinstance(t, FakeTensor)
        rule = op.python_key_table.get(FakeTensorMode if is_fake else type(t))
        if rule is None:
            raise NotImplementedError(
                f"There was no rule registered for HOP {op._name} and subclass {type(t)}. We recommend filing an issue."
            )
        result = rule(t.fake_mode, *args, **kwargs) if is_fake else rule(*args, **kwargs)
        if result is not NotImplemented:
            return result
    if asked or mode is not None:
        raise TypeError(
            f"HigherOrderOperator '{op._name}' is not supported for the given input types. "
            f"This typically happens when using custom tensor types or dispatch modes that don't "
            f"have implementations for this operation.\n\n"
            f"Current mode: {mode}\n"
            f"Input types: {[type(a).__name__ for a in asked]}\n\n"
            f"To fix this, can add support for '{op._name}' in {mode}'s __torch_dispatch__\n"
        )
    return _computing(op, backend_of(tensors[0]) if tensors else "Undefined")(*args, **kwargs)
