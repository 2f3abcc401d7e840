"""Arguments of calls by the names that the called function has for them."""

import inspect
from typing import NamedTuple

import torch

__all__ = ["ArgsKwargsPair", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call."""

    args: tuple
    kwargs: dict


def _of_signature(parameters, args, kwargs, only_kwargs):
    """The arguments as a signature names them, defaults filled in: `parameters` are `(name, default or none, keyword only)`."""
    names = [name for name, _, _ in parameters]
    if len(args) > sum(not is_keyword for _, _, is_keyword in parameters) or not set(kwargs) <= set(names):
        return None
    given = {**dict(zip(names, args)), **kwargs}
    values = {}
    for name, default, _ in parameters:
        if name not in given and default is inspect.Parameter.empty:
            return None
        values[name] = given.get(name, default)
    if only_kwargs:
        return ArgsKwargsPair((), values)
    count = len(args)
    return ArgsKwargsPair(tuple(values[name] for name in names[:count]), {name: values[name] for name in names[count:]})


def _parameters(function):
    """The parameters of a Python function; None where it takes any number of them."""
    try:
        parameters = inspect.signature(inspect.unwrap(function)).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters):
        return None
    return [(one.name, one.default, one.kind is one.KEYWORD_ONLY) for one in parameters]


def _fits(value, text):
    """Whether a value, or one of a type, may be an argument of a type of a signature."""
    if isinstance(value, torch.fx.Node) or value is None:
        return True
    kind = value if isinstance(value, type) else type(value)
    if issubclass(kind, torch.Tensor):
        return text.startswith("Tensor")
    return not text.startswith("Tensor") or text.endswith("]")


def normalize_function(target, args, kwargs=None, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
    """The arguments of a call of a function; None where its signature is not known, or several are and types do not tell which."""
    kwargs = kwargs or {}
    overloads = _overloads(target)
    if overloads is None:
        parameters = _parameters(target) if inspect.isfunction(target) else None
        return None if parameters is None else _of_signature(parameters, args, kwargs, normalize_to_only_use_kwargs)
    is_function = not isinstance(target, torch._ops.OpOverload)
    fitting = {}
    for overload in overloads:
        schema = overload._schema
        empty = inspect.Parameter.empty
        # What Python calls `input` is a method's own tensor to an operator.
        named = lambda one: "input" if is_function and one.name == "self" else one.name  # noqa: E731
        parameters = [(named(one), one.default_value if one.has_default_value() else empty, one.kwarg_only) for one in schema.arguments]
        found = _of_signature(parameters, args, kwargs, normalize_to_only_use_kwargs)
        if found is None or is_function and any(one.alias_info is not None and one.alias_info.is_write for one in schema.arguments):
            continue
        types = {named(one): one.type_text for one in schema.arguments}
        given = {**dict(zip(types, args)), **kwargs}
        if arg_types is not None or kwarg_types is not None:
            given = {**dict(zip(types, arg_types or ())), **(kwarg_types or {})}
        if all(name in types and _fits(value, types[name]) for name, value in given.items()):
            fitting[repr(found)] = found, schema
    if len(fitting) > 1 and arg_types is None and kwarg_types is None:
        schemas = "\n".join(str(schema) for _, schema in fitting.values())
        raise RuntimeError(
            f"Tried to normalize arguments to {torch.typename(target)} but the schema match was ambiguous! Please provide argument types to "
            f"the normalize_arguments() call. Available schemas:\n{schemas}"
        )
    return next(iter(fitting.values()))[0] if fitting else None


def _overloads(target):
    """The overloads of a function of PyTorch's extension; None of a Python function."""
    if isinstance(target, torch._ops.OpOverload):
        return [target]
    written = torch._native._written_name(target)
    packet = getattr(torch.ops.aten, written.rpartition(".")[2], None) if written else None
    return [getattr(packet, name) for name in packet.overloads()] if packet is not None else None


def normalize_module(root, target, args, kwargs=None, normalize_to_only_use_kwargs=False):
    """The arguments of a call of one of PyTorch's own modules."""
    module = root.get_submodule(target)
    cls = getattr(module, "_base_class_origin", type(module))
    if getattr(torch.nn, cls.__name__, None) is not cls:
        return None
    parameters = _parameters(cls.forward)
    return None if parameters is None else _of_signature(parameters[1:], args, kwargs or {}, normalize_to_only_use_kwargs)
