"""`CustomOpDef`: an operator made of a function."""

import contextlib

import torch
from torch import _native_library as _native
from torch._library import autograd
from torch._library.schema import canonical
from torch.autograd._function_transforms import batched

_ALIASES = (
    "The output of this custom operator (1) must not also be an input to this custom operator and (2) may not alias any inputs to "
    "this custom operator or other returns. The most common way to trigger this error is if we have y = custom_op(x) and y and x "
    "are the same Tensor. Please instead return a clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the "
    "custom operator to not return y."
)


def _tensors(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


class CustomOpDef:
    """A function as an operator: called like the function, and the handle to say more of it."""

    def __init__(self, namespace, name, schema, fn):
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._backend_fns = {}
        self._disabled_kernel = set()
        self._abstract_fn = self._backward_fn = self._setup_context_fn = None
        self._opoverload = _native.define(namespace, canonical(name + schema))
        torch.ops._forget(namespace, name)
        parsed = self._opoverload._schema
        if any(argument.kwarg_only and "Tensor" in argument.type_text for argument in parsed.arguments):
            raise NotImplementedError(
                f"custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: {name + schema}"
            )
        formula = lambda: (self._backward_fn, self._setup_context_fn)  # noqa: E731
        _native.implement(self._opoverload, "autograd", autograd.implementation(self._opoverload, formula))

    @property
    def _qualname(self):
        return f"{self._namespace}::{self._name}"

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args, **kwargs):
        return self._opoverload(*args, **kwargs)

    def _no_fake(self):
        return (
            f"There was no fake impl registered for {self}. This is necessary for torch.compile/export/fx tracing to work. Please "
            f"use `{self._init_fn.__name__}.register_fake` to add an fake impl."
        )

    def _run(self, *args, **kwargs):
        """The kernel for tensors on the CPU."""
        fn = None if "cpu" in self._disabled_kernel else self._backend_fns.get("cpu", self._backend_fns.get(None))
        result = (self._init_fn if fn is None else fn)(*args, **kwargs)
        seen = {_native.storage_id(one) for one in _tensors((*args, *kwargs.values()))}
        for one in _tensors(result if isinstance(result, (list, tuple)) else (result,)):
            key = _native.storage_id(one)
            if key in seen:
                module = getattr(fn or self._init_fn, "__module__", "???")
                raise RuntimeError(f"{self._name} (with implementation in {module}): {_ALIASES}")
            seen.add(key)
        return result

    def register_kernel(self, device_types, fn=None, /):
        """Registers a function as what the operator does on some devices."""

        def inner(fn):
            kinds = (device_types,) if device_types is None or isinstance(device_types, str) else device_types
            for kind in kinds:
                self._backend_fns[kind] = fn
            if {"cpu", None} & set(self._backend_fns):
                _native.implement(self._opoverload, "kernel", self._run)
            return fn

        return inner if fn is None else inner(fn)

    def register_fake(self, fn, /):
        """Registers a function that says what results look like."""
        self._abstract_fn = fn
        _native.implement(self._opoverload, "fake", fn)
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """Registers the backward."""
        autograd.check_functional(self._opoverload, self)
        self._backward_fn, self._setup_context_fn = backward, setup_context

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type, enabled=True):
        """Switches a registered kernel off or on."""
        was_disabled = device_type in self._disabled_kernel
        (self._disabled_kernel.discard if enabled else self._disabled_kernel.add)(device_type)
        try:
            yield
        finally:
            (self._disabled_kernel.add if was_disabled else self._disabled_kernel.discard)(device_type)

    def register_vmap(self, func=None):
        """Registers the rule for batches, `func(info, in_dims, *args)`, which gives the results and their batch dimensions."""

        def register(func):
            _native.implement(self._opoverload, "batch", batched(self._opoverload, func))

        return register if func is None else register(func)

    def register_autocast(self, device_type, cast_inputs):
        """Not here."""
        raise NotImplementedError("CustomOpDef.register_autocast: the playground has no autocast rules of a script's own operators")

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """Not here."""
        raise NotImplementedError("CustomOpDef.register_torch_dispatch is not in the playground")
