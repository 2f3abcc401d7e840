"""What holds of an exported program's sizes: their ranges, what the script asked for and tracing did not keep, and the checks of a call."""

import re

import torch
from torch import _native_compile
from torch.fx.experimental.symbolic_shapes import ValueRanges, _Symbol, free_symbols, is_symbolic

from .dynamic_shapes import Dim


def bounds_of(inputs, size):
    """The least and the largest value of a size; None where there is none."""
    return inputs.shape_env._symbols.bounds(size)


def _dimensions(inputs):
    """Of every tensor that the caller gives: where each of its sizes is found, the size, and what the script says of it."""
    from ._trace import source

    for i, fake in inputs.user_fakes.items():
        shape = inputs.shapes[i] or [None] * fake.dim()
        for d, (size, dim) in enumerate(zip(fake.shape, shape)):
            yield f"{source(inputs.paths[i])}.size()[{d}]", size, dim


def check_constraints(inputs):
    """Raises where a dimension that was to vary turned out to be a number, or to be another, or to have narrower bounds."""
    from torch._dynamo.exc import UserError

    said, names, fixes, owners = [], [], [], {}
    for place, size, dim in _dimensions(inputs):
        is_named = isinstance(dim, Dim)
        if not is_named and getattr(dim, "name", None) != "DYNAMIC":
            continue
        name = dim.__name__ if is_named else place
        lower, upper = bounds_of(inputs, size) if is_symbolic(size) else (size, size)
        if lower == upper and lower is not None:
            said.append(_native_compile._specialized(name, lower))
            names.append(name)
            if is_named:
                fixes.append(f"  {name} = {lower}")
            continue
        if not is_named or dim._root is not dim:
            continue
        other, other_place = owners.setdefault(str(size), (dim, place))
        if other.__name__ != dim.__name__:
            said.append(f"The values of {name} = {place} and {other.__name__} = {other_place} must always be equal.")
            names.append(name)
            fixes.append(f"  {name} = {other.__name__}")
            continue
        low = lower if lower is not None and lower > max(dim.min, 2) else None
        high = upper if upper is not None and (dim.max is None or upper < dim.max) else None
        if low is not None or high is not None:
            said.append(_native_compile._unsatisfied(name, place, dim.min or None, dim.max, lower, upper))
            names.append(name)
            bounds = [f"min={low}"] if low is not None else [f"min={dim.min}"] if dim.min else []
            bounds += [f"max={high}"] if high is not None else [f"max={dim.max}"] if dim.max is not None else []
            fixes.append(f"  {name} = Dim('{name}', {', '.join(bounds)})")
    if said:
        fixes = list(dict.fromkeys(fixes))
        suggested = "\n".join(["", "Suggested fixes:", *fixes]) if fixes else ""
        raise UserError(_native_compile._violated(list(dict.fromkeys(names)), said) + suggested)


def _limits(lower, upper):
    return ValueRanges("-int_oo" if lower is None else lower, "int_oo" if upper is None else upper)


def range_constraints(inputs):
    """Between which numbers the symbolic sizes of inputs lie, and the symbols that they are calculated from."""
    found, symbols = {}, []
    for _, size, dim in _dimensions(inputs):
        lower, upper = bounds_of(inputs, size) if is_symbolic(size) else (size, size)
        if lower == upper and lower is not None:
            continue
        if isinstance(dim, Dim):
            lower, upper = dim.min, dim.max
        low, high = found.get(str(size), (0, None))
        found[str(size)] = (max(low, lower or 0), high if upper is None else upper if high is None else min(high, upper))
        symbols += [name for name in sorted(free_symbols(size)) if name not in symbols]
    for name, limits in inputs.shape_env.var_to_range.items():
        if name.startswith("u") and name not in found:
            found[str(name)] = tuple(None if isinstance(n, str) else n for n in (limits.lower, limits.upper))
    constraints = {_Symbol(name): _limits(*limits) for name, limits in found.items()}
    ranges = inputs.shape_env.var_to_range
    return {**constraints, **{_Symbol(name): ranges[name] for name in symbols if name not in constraints}}


def guards(inputs, constraints):
    """What a call is checked for: conditions on the arguments, as text and as a function of them."""
    from ._trace import source

    symbols = {name: origin for name, _, _, _, origin in inputs.shape_env._symbols.symbols()}
    places = {source(path): i for i, path in enumerate(inputs.paths)}
    for condition in inputs.shape_env._symbols.conditions():
        read = list(dict.fromkeys(re.findall(r"\bs\d+\b", condition)))
        found = [_place(symbols.get(name, ""), places) for name in read]
        if None not in found:
            yield _in_words(condition, symbols), found, None, eval(f"lambda {', '.join(read)}: {condition}", {"Max": max, "Min": min})
    seen = {}
    for i, (path, leaf) in enumerate(zip(inputs.paths, inputs.leaves)):
        place = source(path)[3:].replace("']", "", 1)
        if i not in inputs.user_fakes:
            if isinstance(leaf, (int, float, str)) and not isinstance(leaf, bool):
                yield f"{place} == {leaf!r}", i, None, lambda value, leaf=leaf: value == leaf
            continue
        for d, size in enumerate(inputs.user_fakes[i].shape):
            at = f"{place}.size()[{d}]"
            lower, upper = bounds_of(inputs, size) if is_symbolic(size) else (size, size)
            if lower == upper and lower is not None:
                yield f"{at} == {lower}", i, d, lambda n, lower=lower: n == lower
            elif str(size) in seen:
                text, first = seen[str(size)]
                yield f"{at} == {text}", i, d, first
            else:
                seen[str(size)] = (at, (i, d))
                limits = constraints.get(str(size))
                low, high = (limits.lower, limits.upper) if limits else (0, "int_oo")
                if low > 2:
                    yield f"{at} >= {low}", i, d, lambda n, low=low: n >= low
                if high != "int_oo":
                    yield f"{at} <= {high}", i, d, lambda n, high=high: n <= high


def _place(origin, places):
    """The input and the dimension that a size is found at."""
    found = re.fullmatch(r"(.*)\.size\(\)\[(\d+)\]", origin)
    return (places[found[1]], int(found[2])) if found and found[1] in places else None


def _in_words(condition, symbols):
    text = re.sub(r"\bs\d+\b", lambda name: symbols[name[0]], condition)
    text = re.sub(r"L\['(\w+)'\]", r"\1", text)
    # What stands alone on a side needs no parentheses.
    return re.sub(r"^\(([^()]*(?:\(\)[^()]*)*)\)(?= )", r"\1", text)


class GuardsFn(torch.nn.Module):
    """Checks the arguments of a call."""

    def __init__(self, conditions):
        super().__init__()
        self.conditions = list(conditions)

    def forward(self, *args):
        for text, i, d, holds in self.conditions:
            if isinstance(i, list):
                torch._assert(holds(*(args[at].size(dim) for at, dim in i)), f"Guard failed: {text}")
                continue
            value = args[i] if d is None else args[i].size(d)
            holds = value == args[holds[0]].size(holds[1]) if isinstance(holds, tuple) else holds(value)
            torch._assert(holds, f"Guard failed: {text}")
