"""A signature from a function's annotations."""

import inspect
import typing
from collections.abc import Sequence

import torch

# What an annotation is called in a signature, and in which lists it may stand.
_SIMPLE = {
    torch.Tensor: ("Tensor", True),
    int: ("SymInt", True),
    float: ("float", True),
    bool: ("bool", True),
    str: ("str", False),
    torch.types.Number: ("Scalar", True),
    torch.dtype: ("ScalarType", False),
    torch.device: ("Device", False),
}
_RESULTS = ("Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar")


def _simple(annotation):
    try:
        return _SIMPLE.get(annotation)
    except TypeError:
        return None


def _optional(annotation):
    """What `Optional[...]` is of, or None."""
    args = typing.get_args(annotation)
    is_union = typing.get_origin(annotation) is typing.Union or type(annotation).__name__ == "UnionType"
    if is_union and type(None) in args:
        inner = [one for one in args if one is not type(None)]
        return inner[0] if len(inner) == 1 else typing.Union[tuple(inner)]
    return None


def _parameter(annotation):
    """The type of an argument in a signature, or None where it cannot be one."""
    simple = _simple(annotation)
    if simple is not None:
        return simple[0]
    inner = _optional(annotation)
    if inner is not None:
        name = _parameter(inner)
        return None if name is None or name.endswith("?") else f"{name}?"
    if typing.get_origin(annotation) in (list, Sequence):
        args = typing.get_args(annotation)
        item = args[0] if args else None
        simple = _simple(item)
        if simple is not None and simple[1]:
            return f"{simple[0]}[]"
        if _optional(item) is torch.Tensor:
            return "Tensor?[]"
    return None


def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()):
    """The signature of a function, from its annotations. `mutates_args` names what it writes to, or is "unknown"."""
    signature = inspect.signature(prototype_function)
    if type(mutates_args) is not str:
        mutates_args = tuple(mutates_args)
    elif mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated or the string 'unknown'. "
        )

    def refuse(what):
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    def resolved(annotation):
        if not isinstance(annotation, str):
            return annotation
        try:
            return eval(annotation, prototype_function.__globals__)
        except Exception:
            refuse(f"Unsupported type annotation {annotation}. It is not a type.")

    parameters, saw_keyword = [], False
    for place, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
            refuse("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind == inspect.Parameter.KEYWORD_ONLY and not saw_keyword:
            parameters.append("*")
            saw_keyword = True
        if parameter.annotation is inspect.Parameter.empty:
            refuse(f"Parameter {name} must have a type annotation.")
        kind = _parameter(resolved(parameter.annotation))
        if kind is None:
            refuse(f"Parameter {name} has unsupported type {parameter.annotation}.")
        if name in mutates_args and mutates_args != "unknown" and not kind.startswith("Tensor"):
            refuse(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
        if kind.startswith("Tensor") and (mutates_args == "unknown" or name in mutates_args):
            kind = f"Tensor(a{place}!){kind[len('Tensor'):]}"
        if parameter.default is inspect.Parameter.empty:
            parameters.append(f"{kind} {name}")
            continue
        default = parameter.default
        if default is None or isinstance(default, (int, float, bool)):
            text = str(default)
        elif isinstance(default, (str, torch.device)):
            text = f'"{default}"'
        elif isinstance(default, torch.dtype):
            text = str(default).removeprefix("torch.")
        else:
            refuse(
                f"Parameter {name} has an unsupported default value type {type(default)}. Please file an issue on GitHub so we can "
                f"prioritize this."
            )
        parameters.append(f"{kind} {name}={text}")
    if mutates_args != "unknown":
        unknown = set(mutates_args) - set(signature.parameters)
        if unknown:
            refuse(
                f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain the names of "
                f"all args that the custom op mutates, or just the string 'unknown' if you don't know."
            )
    results = _results(resolved(signature.return_annotation), refuse)
    return f"{op_name or ''}({', '.join(parameters)}) -> {results}"


def _results(annotation, refuse):
    if annotation is inspect.Parameter.empty:
        refuse("No return type annotation was provided. Please add one.")
    if annotation is None or annotation is type(None):
        return "()"
    several = typing.get_args(annotation) if typing.get_origin(annotation) is tuple else (annotation,)
    names = [_parameter(one) for one in several]
    for name in names:
        if name not in _RESULTS:
            refuse(f"Return has unsupported type {annotation}.")
    return names[0] if typing.get_origin(annotation) is not tuple else f"({', '.join(names)})"
