"""The guards of a `ShapeEnv` as Python, in terms of where sizes are found: equal sizes and strides first, then conditions, then ranges."""

import re

import torch

_SYMBOL = re.compile(r"\b[su]\d+\b")
_LARGEST = 2**63 - 1


def _is_symbolic(number):
    return type(number) in (torch.SymInt, torch.SymFloat)


def parts(placeholder, source):
    """The numbers of an input, each with where it is found and whether it is one of a tensor's."""
    if not isinstance(placeholder, torch.Tensor):
        return [(placeholder, source, False)]
    found = [(size, f"{source}.size()[{d}]", True) for d, size in enumerate(placeholder.size())]
    found += [(stride, f"{source}.stride()[{d}]", True) for d, stride in enumerate(placeholder.stride())]
    return [*found, (placeholder.storage_offset(), f"{source}.storage_offset()", True)]


def produce(env, placeholders, sources, ignore_static=True, constraints=None):
    """The guards. `constraints`: by the input, the ranges of its sizes that a script asked for."""
    known, given = {}, []
    for placeholder, source in zip(placeholders, sources):
        for number, place, of_tensor in parts(placeholder, source):
            text = env._symbols.in_python(number) if _is_symbolic(number) else str(number)
            if _SYMBOL.fullmatch(text):
                known.setdefault(text, []).append(place)
            given.append((place, text, of_tensor))

    def placed(text):
        return _SYMBOL.sub(lambda m: known[m[0]][0], text)

    def is_readable(text):
        return all(name in known for name in _SYMBOL.findall(text))

    guards = []
    for place, text, of_tensor in given:
        if known.get(text, [None])[0] == place or ignore_static and of_tensor and not _SYMBOL.search(text):
            continue
        if is_readable(text):
            guards.append(f"{place} == {placed(text)}")
    guards += list(dict.fromkeys(placed(text) for text in env._symbols.produced() if is_readable(text)))
    ranges = {name: (lower, upper) for name, lower, upper, _, _ in env._symbols.symbols()}
    for name, places in known.items():
        lower, upper = ranges[name]
        bounds = [f"{lower} <= {places[0]}"] if lower > -_LARGEST - 1 else []
        bounds += [f"{places[0]} <= {upper}"] if upper < _LARGEST else []
        if bounds:
            guards.append(" and ".join(bounds))
    if constraints:
        _check(env, known, ranges, given, constraints)
    return guards


def _check(env, known, ranges, given, constraints):
    """Raises where what a script asked for of sizes was not kept."""
    from torch.fx.experimental.symbolic_shapes import ConstraintViolationError, StrictMinMaxConstraint

    texts = {place: text for place, text, _ in given}
    said, names = [], []
    for place, constraint in constraints.items():
        text = texts[place]
        if constraint is None:
            continue
        if not _SYMBOL.search(text):
            names.append(place)
            if isinstance(constraint, StrictMinMaxConstraint):
                said.append(f"  - Not all values of {_asked(place, constraint)} are valid because {place} was inferred to be a constant ({text}).")
            else:
                said.append(
                    f"  - You marked {place} as dynamic but your code specialized it to be a constant ({text}). If you're using mark_dynamic, "
                    "either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with either Dim.STATIC or Dim.AUTO."
                )
        elif isinstance(constraint, StrictMinMaxConstraint) and text in ranges:
            lower, upper = ranges[text]
            asked = constraint.vr
            if lower > max(2, _least(asked.lower)) or upper < _most(asked.upper):
                bounds = [f"{lower} <= {place}"] + ([f"{place} <= {upper}"] if upper < _LARGEST else [])
                names.append(place)
                said.append(f"  - Not all values of {_asked(place, constraint)} satisfy the generated guard {' and '.join(bounds)}")
    if said:
        raise ConstraintViolationError(
            f"Constraints violated ({', '.join(sorted(names))})! For more information, run with TORCH_LOGS=\"+dynamic\".\n" + "\n".join(said)
        )


def _least(bound):
    return bound if isinstance(bound, int) else -_LARGEST - 1


def _most(bound):
    return bound if isinstance(bound, int) else _LARGEST


def _asked(place, constraint):
    lower, upper = constraint.vr.lower, constraint.vr.upper
    if isinstance(upper, int) and upper < _LARGEST:
        asked = f"{place} <= {upper}" if not isinstance(lower, int) or lower <= 2 else f"{lower} <= {place} <= {upper}"
    else:
        asked = f"{lower} <= {place}"
    return f"{place} = {place} in the specified range {asked}"


def evaluate(code, args):
    """Whether guards hold of inputs called `t0`, `t1`, ..."""
    names = {"L": {f"t{i}": arg for i, arg in enumerate(args)}, "Max": max, "Min": min, "Mod": lambda a, b: a % b}
    return bool(eval(code, names))


def bind(env, placeholders, args):
    """The values of symbols that are sizes, strides or offsets of inputs."""
    from torch.fx.experimental._expressions import Symbol

    found = {}
    for placeholder, arg in zip(placeholders, args):
        if arg is None:
            continue
        for (number, _, _), (value, _, _) in zip(parts(placeholder, ""), parts(arg, "")):
            if not _is_symbolic(number):
                continue
            text = env._symbols.in_python(number)
            negative = re.fullmatch(r"-([su]\d+)", text)
            if _SYMBOL.fullmatch(text):
                if found.setdefault(Symbol(text, number), value) != value:
                    raise AssertionError(f"{text} is both {found[Symbol(text)]} and {value}")
            elif negative:
                found.setdefault(Symbol(negative[1]), -value)
    return found


__all__ = ["bind", "evaluate", "parts", "produce"]
