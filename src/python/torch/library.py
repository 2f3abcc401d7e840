"""`torch.library`: operators that a script defines.

An operator is a signature, defined natively (`_native_library.define`), and functions that compute it, say what its results
look like and differentiate it, kept natively too (`implement`). `custom_op` infers the signature from a function's annotations;
`Library` takes it as text.
"""

import torch
from torch import _native_library as _native
from torch import _tags
from torch._library import CustomOpDef, infer_schema
from torch._library import autograd as _autograd
from torch._library.fake import get_ctx
from torch._library.opcheck import opcheck
from torch.autograd._function_transforms import batched

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]

# The custom operators of the script, by qualified name.
_custom_ops = {}

_COMPOSITE = "CompositeImplicitAutograd"
_EVERYWHERE = "CompositeExplicitAutograd"
_BELOW = ("CompositeExplicitAutogradNonFunctional",)


def _parse_qualname(qualname):
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            f"Expected `qualname` to be of the form `namespace::name`, but got {qualname}. The qualname passed to the torch.library "
            f"APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    if "." in parts[1]:
        raise ValueError(
            f"The torch.library.custom_op APIs do not handle overloads, i.e. operator names with '.' in them. Please name your "
            f"operator something like {qualname}_func. Got: {qualname}"
        )
    return parts


def _overload(op):
    """The overload that a qualified name, a custom operator or an overload stands for."""
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if not isinstance(op, str):
        return op
    namespace, name = op.split("::")
    name, _, overload = name.partition(".")
    try:
        return getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")
    except AttributeError:
        raise RuntimeError(f"operator {op} does not exist") from None


def _custom(op, function):
    """The custom operator that is meant, or None where it was defined in another way."""
    if not isinstance(op, (str, torch._ops.OpOverload, CustomOpDef)):
        raise ValueError(f"{function}({op}): got unexpected type for op: {type(op)}")
    return op if isinstance(op, CustomOpDef) else _custom_ops.get(op if isinstance(op, str) else op.name())


class Library:
    """Operators of a namespace: their signatures (`DEF`), or implementations of signatures that are there (`IMPL`, `FRAGMENT`)."""

    def __init__(self, ns, kind, dispatch_key=""):
        from torch._library.schema import RESERVED

        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError("Unsupported kind: ", kind)
        if ns in RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(ns, " is a reserved namespace. Please try creating a library with another name.")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._op_defs = set()

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Defines an operator by its signature; gives its name."""
        from torch._library.schema import canonical

        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError("def(): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.")
        schema = schema.removeprefix(f"{self.ns}::")
        name = schema.split("(")[0]
        if f"{self.ns}::{name}" in self._op_defs:
            raise RuntimeError(
                f"Tried to register an operator ({self.ns}::{schema}) with the same name and overload name multiple times. Each "
                "overload's schema should only be registered with a single call to def()."
            )
        overload = _native.define(self.ns, canonical(schema))
        _tags.say(str(overload), tags)
        torch.ops._forget(self.ns, overload._opname)
        self._op_defs.add(f"{self.ns}::{name}")
        return name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """Registers a function as what an operator does under a dispatch key."""
        if with_keyset:
            raise NotImplementedError("torch.library.Library.impl(with_keyset=True): the playground has no dispatch key sets")
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if dispatch_key == "":
            dispatch_key = self.dispatch_key or _COMPOSITE
        if isinstance(op_name, str):
            overload = _overload(op_name if "::" in op_name else f"{self.ns}::{op_name}")
        elif isinstance(op_name, (torch._ops.OpOverload, CustomOpDef)):
            overload = _overload(op_name)
        else:
            raise RuntimeError("impl should be passed either a name or an OpOverload object as the first argument")
        if overload.namespace in ("aten", "prims"):
            raise NotImplementedError(
                f"torch.library.Library.impl: the playground cannot replace an operator of PyTorch's ({overload.name()})"
            )
        _implement(overload, fn, dispatch_key)

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        """Not here."""
        raise NotImplementedError("torch.library.Library.fallback: the playground has no fallbacks of dispatch keys")

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=False):
        _native.implement(_overload(f"{self.ns}::{op_name}"), "fake", fn)

    def _destroy(self):
        self._op_defs.clear()


def _implement(overload, fn, key):
    if key == _COMPOSITE:
        _native.implement(overload, "composite", fn)
    elif key == _EVERYWHERE or key in _BELOW:
        _native.implement(overload, "kernel", fn)
        if not _native.is_implemented(overload, "fake"):
            _native.implement(overload, "fake", fn)
    elif key == "CPU":
        _native.implement(overload, "kernel", fn)
    elif key == "Meta":
        _native.implement(overload, "fake", fn)
    elif key in ("Autograd", "AutogradCPU"):
        _native.implement(overload, "autograd", fn)
    # What other devices do is never asked here.


def fallthrough_kernel():
    """A dummy for `Library.impl`: the call goes on to what is below."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def _no_fake(overload):
    """What is said where a fake tensor comes to an operator of which nothing says what its results look like."""
    custom = _custom_ops.get(f"{overload.namespace}::{overload._opname}")
    if custom is not None:
        return custom._no_fake()
    return (
        f"{overload}: could not find fake impl. Please register one via torch.library.register_fake: the operator cannot run with "
        f"fake tensors"
    )


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Makes an operator of a function: what it does is not looked into by what captures or differentiates."""

    def inner(fn):
        namespace, opname = _parse_qualname(name)
        signature = infer_schema(fn, mutates_args=mutates_args) if schema is None else schema
        result = CustomOpDef(namespace, opname, signature, fn)
        own = [tags] if isinstance(tags, _tags.Tag) else list(tags or ())
        _tags.say(str(result._opoverload), [_tags.Tag.pt2_compliant_tag, *own])
        if schema is not None:
            wanted = {argument.name for argument in result._opoverload._schema.arguments if argument.alias_info is not None}
            if mutates_args != "unknown" and set(mutates_args) != wanted:
                raise ValueError(
                    f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. The schema suggests "
                    f"that the op mutates {wanted}which is different from what was provided to us in `mutates_args`. Please make "
                    f"these consistent."
                )
        _custom_ops[result._qualname] = result
        result.register_kernel(device_types)(fn)
        return result

    return inner if fn is None else inner(fn)


def define(qualname, schema, *, lib=None, tags=()):
    """Defines an operator by its qualified name and its signature: `define("mylib::f", "(Tensor x) -> Tensor")`."""
    if isinstance(qualname, Library):
        # The older form: `@define(lib, signature)` over the implementation.
        def wrap(fn):
            qualname.impl(qualname.define(schema), fn)
            return fn

        return wrap
    namespace, name = qualname.split("::")
    if not schema.lstrip().startswith("("):
        raise ValueError(
            f'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got "{schema}"'
        )
    (lib or Library(namespace, "FRAGMENT")).define(name + schema.lstrip(), tags=tags)
    return None


def impl(qualname, types, func=None, *, lib=None):
    """Registers a function as what an operator does on some devices, or under a dispatch key."""
    if isinstance(qualname, Library):
        # The older form: `@impl(lib, name, dispatch_key)`.
        def old(fn):
            qualname.impl(types, fn, func or "")
            return fn

        return old
    types = (types,) if isinstance(types, str) else tuple(types)
    keys = {"cpu": "CPU", "cuda": "CUDA", "default": _EVERYWHERE, "meta": "Meta", "xpu": "XPU", "mps": "MPS"}

    def register(fn):
        overload = _overload(qualname)
        for kind in types:
            _implement(overload, fn, keys.get(kind, kind))

    if func is None:
        return register
    register(func)
    return None


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Registers a function as what an operator does on some devices."""
    custom = _custom(op, "register_kernel")
    if custom is not None:
        return custom.register_kernel(device_types, func)

    def register(fn):
        impl(op, "default" if device_types is None else device_types, fn, lib=lib)
        return fn

    return register if func is None else register(func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """Registers a function that says what an operator's results look like."""
    custom = _custom(op, "register_fake")
    if custom is not None:
        return custom.register_fake if func is None else custom.register_fake(func)

    def register(fn):
        _native.implement(_overload(op), "fake", fn)
        return fn

    return register if func is None else register(func)


def impl_abstract(qualname, func=None, *, lib=None, _stacklevel=1):
    """An older name of `register_fake`."""
    return register_fake(qualname, func, lib=lib)


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Registers the backward of an operator."""
    custom = _custom(op, "register_autograd")
    if custom is not None:
        custom.register_autograd(backward, setup_context=setup_context)
        return
    overload = _overload(op)
    _autograd.check_functional(overload, op)
    _native.implement(overload, "autograd", _autograd.implementation(overload, lambda: (backward, setup_context)))


def register_vmap(op, func=None, /, *, lib=None):
    """Registers the rule for batches of an operator, `func(info, in_dims, *args)`, which gives the results and their batch dimensions."""
    custom = _custom(op, "register_vmap")
    if custom is not None:
        return custom.register_vmap(func)
    overload = _overload(op)

    def register(func):
        _native.implement(overload, "batch", batched(overload, func))

    return register if func is None else register(func)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Not here."""
    raise NotImplementedError("torch.library.register_autocast: the playground has no autocast rules of a script's own operators")


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """Not here."""
    raise NotImplementedError("torch.library.register_torch_dispatch is not in the playground")


def get_kernel(op, dispatch_key):
    """Not here."""
    raise NotImplementedError("torch.library.get_kernel is not in the playground")


def triton_op(name, fn=None, /, *, mutates_args, schema=None):
    """Not here: there is no Triton without a GPU's compiler."""
    raise NotImplementedError("torch.library.triton_op: the playground has no Triton")


def wrap_triton(triton_kernel, /):
    """Not here."""
    raise NotImplementedError("torch.library.wrap_triton: the playground has no Triton")
