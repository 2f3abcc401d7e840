"""What holds of an exported program's sizes: their ranges, what the script asked for and tracing did not keep, and the checks of a call."""

import math
import re

import torch
from torch import _native_compile
from torch.fx.experimental.symbolic_shapes import ValueRanges, _Symbol, free_symbols, is_symbolic
from torch.utils._sympy.numbers import int_oo

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


def _relate(inputs, dims):
    """Sizes with the same `Dim` are equal, and one with a calculated `Dim` is calculated from that of its root."""
    from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

    symbols, roots = inputs.shape_env._symbols, {}
    for place, size, dim in dims:
        if not isinstance(dim, Dim) or dim._root is not dim:
            continue
        first, first_place = roots.setdefault(dim.__name__, (size, place))
        if not symbols.equate(size, first):
            raise ConstraintViolationError(f"{place} = {_value(size)} is not equal to {first_place} = {_value(first)}")
    for place, size, dim in dims:
        if isinstance(dim, Dim) and dim._root is not dim and dim._root.__name__ in roots:
            root, _ = roots[dim._root.__name__]
            if not symbols.equate(size, root * dim._factor + dim._summand):
                raise ConstraintViolationError(
                    f"Expected input {place} to be equal to {dim.__name__}, where {dim._root.__name__} = {_value(root)}, but got {_value(size)}"
                )


def _value(size):
    return size.node.hint if is_symbolic(size) else size


def check_constraints(inputs):
    """Raises where dimensions are not related as the script says, or are where it does not say so, where one that was to vary turned
    out to be a number, and where some of the values that the script allows for do not satisfy a guard."""
    from torch._dynamo.exc import UserError
    from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

    dims = list(_dimensions(inputs))
    try:
        _relate(inputs, dims)
        violation = _Violations(inputs, list(_dimensions(inputs))).message()
    except ConstraintViolationError as error:
        violation = str(error)
    if violation:
        raise UserError(violation)


class _Violations:
    """What the script said of dimensions and tracing did not keep, and what it could say instead."""

    def __init__(self, inputs, dims):
        self.inputs, self.dims = inputs, dims
        self.names = {place: dim.__name__ for place, _, dim in dims if isinstance(dim, Dim)}
        # The first place where a symbol is the whole size, and what is said of all such places.
        self.owners, self.said_of = {}, {}
        for place, size, dim in dims:
            name = str(size)
            if is_symbolic(size) and name in map(str, free_symbols(size)):
                self.owners.setdefault(name, place)
                if isinstance(dim, Dim) or getattr(dim, "name", None) == "DYNAMIC":
                    self.said_of.setdefault(name, []).append(dim)
        self.said, self.violated, self.specialized = [], set(), []
        # What is known of dimensions by their names: bounds, or what they are equal to.
        self.results = {}

    def message(self):
        self._numbers()
        self._relations()
        self._guards()
        self._ranges()
        if not self.said:
            return None
        fixes = self._fixes()
        solved = ""
        if self.specialized:
            names = ", ".join(sorted({name for name, _, _ in self.specialized}))
            solved = f"Specializations unexpectedly required ({names})! For more information, run with TORCH_LOGS=\"+dynamic\".\n" + "".join(
                f"  - solving the guards generated for {name} = {place} resulted in a specialized value of {number}.\n"
                for name, place, number in self.specialized
            )
        suggested = "\n".join(["", "Suggested fixes:", *fixes]) if fixes else ""
        return _native_compile._violated(sorted(self.violated), self.said) + solved + suggested

    def _bounds(self, size):
        return bounds_of(self.inputs, size) if is_symbolic(size) else (size, size)

    def _name(self, place):
        return self.names.get(place, place)

    def _tell(self, name, message):
        self.violated.add(name)
        self.said.append(message)

    def _numbers(self):
        for place, size, dim in self.dims:
            if not isinstance(dim, Dim) and getattr(dim, "name", None) != "DYNAMIC":
                continue
            lower, upper = self._bounds(size)
            if lower == upper and lower is not None:
                name = self._name(place)
                self._tell(name, _native_compile._specialized(name, lower))
                if place in self.names:
                    self.results[name] = {"eq": str(lower)}

    def _relations(self):
        for place, size, dim in self.dims:
            symbols = list(map(str, free_symbols(size))) if is_symbolic(size) else []
            if len(symbols) != 1 or symbols[0] not in self.said_of:
                continue
            symbol, expression, name = symbols[0], str(size), self._name(place)
            owner = self.owners[symbol]
            other = self._name(owner)
            if place == owner:
                continue
            is_hinted = any(type(one).__name__ == "_DimHint" for at, _, one in self.dims if at in (place, owner))
            if is_hinted:
                continue
            if expression == symbol:
                if name != other:
                    self._tell(name, f"The values of {name} = {place} and {other} = {owner} must always be equal.")
            else:
                related = re.sub(rf"\b{symbol}\b", other, expression)
                if not isinstance(dim, Dim) or dim._root.__name__ != other:
                    self._tell(
                        name, f"The values of {name} = {place} must always be related to the values of {other} = {owner} by {name} = {related}."
                    )
            if place in self.names and owner in self.names and name != other:
                self.results[name] = {"eq": re.sub(rf"\b{symbol}\b", other, expression)}

    def _guards(self):
        hints = {name: value for name, _, _, value, _ in self.inputs.shape_env._symbols.symbols()}
        self.moduli = {}
        for symbol, text, modulus, is_trivial, is_solved in self.inputs.shape_env._symbols.conditions_on_one():
            place = self.owners.get(symbol)
            if place is None or "Max(" in text:
                continue
            self.moduli[place] = (math.lcm(self.moduli.get(place, (1, 0))[0], modulus), hints[symbol])
            name = self._name(place)
            if is_solved and symbol in self.said_of and all(name != known for known, _, _ in self.specialized):
                self.specialized.append((name, place, hints[symbol]))
            if is_trivial:
                continue
            condition = re.sub(rf"\b{symbol}\b", place, text)
            for dim in self.said_of.get(symbol, ()):
                if isinstance(dim, Dim):
                    self._tell(name, self._unsatisfied(name, place, dim, condition) + ".")

    def _unsatisfied(self, name, place, dim, condition):
        least = dim.min if dim.min > 2 else None
        return _native_compile._unsatisfied(name, place, least, dim.max, condition)

    def _ranges(self):
        sizes = {place: size for place, size, _ in self.dims}
        for symbol, place in self.owners.items():
            lower, upper = self._bounds(sizes[place])
            name = self._name(place)
            for dim in self.said_of.get(symbol, ()):
                if not isinstance(dim, Dim):
                    continue
                is_kept = (lower or 0) <= max(dim.min, 2) and (upper is None or dim.max is not None and dim.max <= upper)
                if not is_kept:
                    self._tell(name, self._unsatisfied(name, place, dim, _native_compile._within(place, lower, upper)))
            if place in self.names and "eq" not in self.results.get(name, ()):
                self.results[name] = {"min": lower or 2, "max": upper, "place": place}

    def _fixes(self):
        for name, place, number in self.specialized:
            self.results[name] = {"eq": str(number)}
        introduced = {}
        for name, known in self.results.items():
            modulus, value = self.moduli.get(known.get("place"), (1, 0))
            if modulus == 1:
                continue
            # name = modulus * root - rest
            rest, root = -value % modulus, f"_{name}"
            least, most = known["min"], known["max"]
            introduced[root] = {"min": -(-(least + rest) // modulus), "max": "oo" if most is None else (most + rest) // modulus}
            known["eq"] = f"{modulus}*{root}" + (f" - {rest}" if rest else "")
        said = {dim.__name__: dim for _, _, dim in self.dims if isinstance(dim, Dim)}
        dims, others = [], []
        for name, known in sorted({**self.results, **introduced}.items(), key=lambda one: self._sources(one[0])):
            if "eq" in known:
                others.append(f"  {name} = {known['eq']}")
                continue
            least, most, dim = known["min"], known["max"], said.get(name)
            if dim is not None and (dim._root is not dim or max(dim.min, 2) == least and dim.max == most):
                continue
            bounds = [f"min={least}"] if least != 2 else []
            bounds += [f"max={most}"] if most is not None else []
            dims.append(f"  {name} = Dim({', '.join([repr(name), *bounds])})")
        return dims + others

    def _sources(self, name):
        for place, known in self.names.items():
            name = name.replace(known, place)
        return name


def _limits(lower, upper):
    return ValueRanges(-int_oo if lower is None else lower, int_oo if upper is None else upper)


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
    # Numbers that only a run knows come first.
    unknown = {}
    for name, limits in inputs.shape_env.var_to_range.items():
        if name.startswith("u") and name not in found:
            unknown[str(name)] = tuple(None if isinstance(n, str) else n for n in (limits.lower, limits.upper))
    found = {**unknown, **found}
    constraints = {_Symbol(name): _limits(*limits) for name, limits in found.items()}
    ranges = inputs.shape_env.var_to_range
    return {**constraints, **{_Symbol(name): ranges[name] for name in symbols if name not in constraints}}


def guards_code(inputs):
    """Conditions on sizes, in terms of where inputs are found."""
    symbols = {name: origin for name, _, _, _, origin in inputs.shape_env._symbols.symbols()}
    found = []
    for condition in inputs.shape_env._symbols.guard_texts():
        if all(symbols.get(name, "").startswith("L[") for name in re.findall(r"\bs\d+\b", condition)):
            found.append(re.sub(r"\bs\d+\b", lambda name: symbols[name[0]], condition))
    return found


def _told(code, inputs, places):
    """The conditions of a program that was in a file."""
    from ._guard_texts import read

    for text in code:
        condition = read(text, lambda place: _shown(re.sub(r"^L\['([^']*)'\]", r"\1", place), inputs))
        known = {place: _place(place, places) for place in condition.places}
        if None in known.values():
            raise NotImplementedError(f"the condition {text} of a program in a file is not available in the playground")

        def holds(*sizes, condition=condition, known=known):
            return condition.value(dict(zip(known, sizes)))

        yield condition.text, list(known.values()), None, holds


def guards(inputs, constraints, told=None):
    """What a call is checked for: conditions on the arguments, as text and as a function of them. `told` are those beside ranges of a
    program that was in a file."""
    from ._trace import source

    symbols = {name: origin for name, _, _, _, origin in inputs.shape_env._symbols.symbols()}
    places = {source(path): i for i, path in enumerate(inputs.paths)}
    seen = {}
    for i, (path, leaf) in enumerate(zip(inputs.paths, inputs.leaves)):
        place = _shown(source(path)[3:].replace("']", "", 1), inputs)
        if i not in inputs.user_fakes:
            if isinstance(leaf, (int, float, str)):
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
                low, high = (limits.lower, limits.upper) if limits else (0, int_oo)
                if low > 2:
                    yield f"{at} >= {low}", i, d, lambda n, low=low: n >= low
                if high != int_oo:
                    yield f"{at} <= {high}", i, d, lambda n, high=high: n <= high
    yield from _told(told or (), inputs, places)
    for condition in () if told is not None else inputs.shape_env._symbols.conditions():
        read = list(dict.fromkeys(re.findall(r"\bs\d+\b", condition)))
        found = [_place(symbols.get(name, ""), places) for name in read]
        if None not in found:
            yield _shown(_in_words(condition, symbols), inputs), found, None, eval(f"lambda {', '.join(read)}: {condition}", {"Max": max, "Min": min})
    yield from _calculated(inputs, places)


def _shown(text, inputs):
    """What `*args` takes is called as its inputs are."""
    return text if inputs.several is None else re.sub(rf"\b{inputs.several}\[(\d+)\]", rf"{inputs.several}_\1", text)


def _calculated(inputs, places):
    """That sizes which are calculated from what is no size of an input can be, and are calculated from the same."""
    dims = [(place, dim) for place, size, dim in _dimensions(inputs) if isinstance(dim, Dim) and is_symbolic(size)]
    known, firsts = {dim.__name__ for _, dim in dims if dim._root is dim}, {}
    for place, dim in dims:
        if dim._root is dim or dim._root.__name__ in known:
            continue
        text, at = _shown(place[3:].replace("']", "", 1), inputs), _place(place, places)
        factor, summand = dim._factor, dim._summand
        if dim._root.__name__ not in firsts:
            firsts[dim._root.__name__] = (text, at, factor, summand)
            if factor > 1:
                rest = -summand % factor
                base = f"({rest} + {text})" if rest else text
                yield f"{base} % {factor} == 0", *at, lambda n, factor=factor, summand=summand: (n - summand) % factor == 0
            continue
        first, first_at, divisor, less = firsts[dim._root.__name__]
        base = first if divisor == 1 else f"({_plus(-less, first)}) // {divisor}" if less else f"{first} // {divisor}"
        multiplied = f"{factor} * {base}" if divisor == 1 and factor > 1 else f"{factor} * ({base})" if factor > 1 else base
        calculated = _plus(summand - factor * less if divisor == 1 else summand, multiplied)

        def holds(n, m, divisor=divisor, less=less, factor=factor, summand=summand):
            return (n - less) // divisor * factor + summand == m

        yield f"{calculated} == {text}", [first_at, at], None, holds


def _plus(number, text):
    return f"{number} + {text}" if number else text


def _place(origin, places):
    """The input and the dimension that a size is found at."""
    found = re.fullmatch(r"(.*)\.size\(\)\[(\d+)\]", origin)
    return (places[found[1]], int(found[2])) if found and found[1] in places else None


def _in_words(condition, symbols):
    text = re.sub(r"\bs\d+\b", lambda name: symbols[name[0]], condition)
    text = re.sub(r"L\['(\w+)'\]", r"\1", text)
    text = re.sub(r"\((-\d+)\)", r"\1", re.sub(r"(?<=\S)\*(?=\S)", " * ", text))
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
