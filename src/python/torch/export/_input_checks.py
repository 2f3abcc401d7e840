"""What the inputs of an unflattened program have to be: tensors of the sizes that were exported, and numbers and texts that are equal."""

import math
import re

import torch
from torch.fx.experimental.symbolic_shapes import is_symbolic
from torch.utils._pytree import tree_unflatten


def _paths(spec):
    """Of every leaf, where it is found in the arguments."""
    numbers = tree_unflatten(list(range(spec.num_leaves)), spec)
    found = {}

    def walk(tree, path, spec):
        if spec.is_leaf():
            found[tree] = path
            return
        if isinstance(tree, dict):
            parts = [(tree[key], f"{path}[{key!r}]") for key in spec.context]
        elif hasattr(tree, "_fields"):
            parts = [(part, f"{path}.{name}") for name, part in zip(tree._fields, tree)]
        else:
            parts = [(part, f"{path}[{i}]") for i, part in enumerate(tree)]
        for (part, path_of_part), child in zip(parts, spec.children()):
            walk(part, path_of_part, child)

    args, kwargs = numbers
    for i, (arg, child) in enumerate(zip(args, spec.child(0).children())):
        walk(arg, f"*args[{i}]", child)
    for name, child in zip(spec.child(1).context, spec.child(1).children()):
        walk(kwargs[name], f"'{name}'", child)
    return [found[i] for i in range(spec.num_leaves)]


class _Sizes:
    """Sizes of a call against those that were exported; a symbol is the first number that is met for it."""

    def __init__(self, ranges):
        self.ranges, self.values = {str(symbol): bounds for symbol, bounds in ranges.items()}, {}

    def check(self, size, given, path):
        text = str(size)
        names = set(re.findall(r"\b[su]\d+\b", text))
        if not is_symbolic(size) or not names:
            if given != int(size):
                raise RuntimeError(
                    f"Expected input at {path} to be equal to {size}, but got {given}. If you meant for this dimension to be dynamic, please "
                    "re-export and specify dynamic_shapes (e.g. with Dim.DYNAMIC)"
                )
            return
        if len(names) > 1:
            return
        (name,) = names
        if name in self.values:
            known = _evaluated(text, name, self.values[name])
            if known != given:
                raise RuntimeError(f"Expected input at {path} to be equal to {known}, but got {given}")
        elif text == name:
            self.values[name] = int(given)
        else:
            value = _solved(text, name, given)
            if value is None:
                raise RuntimeError(f"Expected input {path} = {given} to be of the form {text}, where {name} is an integer")
            self.values[name] = value
        bounds = self.ranges.get(text)
        if bounds is None:
            return
        if isinstance(bounds.lower, int) and bounds.lower > 2 and given < bounds.lower:
            raise RuntimeError(f"Expected input at {path} to be >= {bounds.lower}, but got {given}")
        if isinstance(bounds.upper, int) and given > bounds.upper:
            raise RuntimeError(f"Expected input at {path} to be <= {bounds.upper}, but got {given}")


def _evaluated(text, name, value):
    return eval(re.sub(rf"\b{name}\b", str(value), text), {"__builtins__": {}})


def _solved(text, name, given):
    """The value of the symbol of a linear expression where that is the number given."""
    at_zero = _evaluated(text, name, 0)
    step = _evaluated(text, name, 1) - at_zero
    value, rest = divmod(given - at_zero, step)
    return None if rest else value


def check_inputs(placeholders, leaves, spec, ranges, paths=None):
    """Raises where an argument is not what the program takes."""
    if len(leaves) != len(placeholders):
        raise RuntimeError(f"Unexpected number of inputs (expected {len(placeholders)}, got {len(leaves)})")
    paths = paths or _paths(spec)
    sizes = _Sizes(ranges)
    for path, arg, node in zip(paths, leaves, placeholders):
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            if not isinstance(arg, torch.Tensor):
                raise RuntimeError(f"Expected input at {path} to be a tensor, but got {type(arg)}")
            if arg.dim() != value.dim():
                raise RuntimeError(f"Unexpected number of dimensions in input at {path}.shape (expected {value.shape}, got {arg.shape})")
            for d, (given, size) in enumerate(zip(arg.shape, value.shape)):
                sizes.check(size, given, f"{path}.shape[{d}]")
        elif is_symbolic(value):
            sizes.check(value, arg, path)
        elif isinstance(value, (int, float, str)):
            if type(arg) is not type(value):
                raise RuntimeError(f"Expected input at {path} to be equal to {value}, but got {arg}")
            if isinstance(value, float) and math.isnan(value):
                if not math.isnan(arg):
                    raise RuntimeError(f"Expected input at {path} to be nan, but got {arg}")
            elif arg != value:
                raise RuntimeError(f"Expected input at {path} to be equal to {value}, but got {arg}")


__all__ = ["check_inputs"]
