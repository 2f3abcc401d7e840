"""`ShapeEnv`: symbols for sizes, and what is known of them."""

import enum
import re
from dataclasses import dataclass, field

import torch
from torch import _native_fake
from torch._errors import GuardOnDataDependentSymNode

__all__ = [
    "ShapeEnv", "DimDynamic", "StatelessSymbolicContext", "ConstraintViolationError", "GuardOnDataDependentSymNode", "guard_bool",
    "guard_int", "guard_float", "guard_scalar", "guard_or_false", "guard_or_true", "guard_size_oblivious", "statically_known_true",
    "is_symbolic", "is_concrete_int", "has_free_symbols", "free_symbols", "free_unbacked_symbols", "sym_eq", "expect_true",
]  # fmt: skip


class ConstraintViolationError(RuntimeError):
    """A dimension is not as dynamic as the script said."""


class DimDynamic(enum.Enum):
    """How a size becomes a symbol."""

    DYNAMIC = 0
    DUCK = 1
    STATIC = 2


@dataclass(frozen=True)
class StatelessSymbolicContext:
    """How the sizes of a tensor become symbols."""

    dynamic_sizes: list
    dynamic_strides: list = None
    constraint_sizes: list = None
    constraint_strides: list = None


@dataclass(frozen=True)
class ValueRanges:
    """The smallest and the largest value of a symbol."""

    lower: object
    upper: object

    def __repr__(self):
        return f"VR[{self.lower}, {self.upper}]"


@dataclass(frozen=True)
class ShapeGuard:
    """A condition that tracing relied on."""

    expr: str
    size_oblivious: bool = field(default=False, repr=False)


_LARGEST = 2**63 - 1


def _range(lower, upper):
    return ValueRanges("-int_oo" if lower == -_LARGEST - 1 else lower, "int_oo" if upper == _LARGEST else upper)


class ShapeEnv:
    """Symbols for the sizes of tensors, and the conditions on them that a script's decisions installed."""

    def __init__(
        self,
        *,
        allow_scalar_outputs=True,
        allow_dynamic_output_shape_ops=True,
        assume_static_by_default=False,
        specialize_zero_one=True,
        duck_shape=None,
        **others,
    ):
        if not specialize_zero_one or any(others.values()):
            raise NotImplementedError("ShapeEnv: of its settings the playground has those of scalars, of sizes that values decide, "
                                      "assume_static_by_default and duck_shape")  # fmt: skip
        self._symbols = _native_fake.symbols()
        self.allow_scalar_outputs = allow_scalar_outputs
        self.allow_dynamic_output_shape_ops = allow_dynamic_output_shape_ops
        self.assume_static_by_default = assume_static_by_default
        self.specialize_zero_one = specialize_zero_one
        self.duck_shape = duck_shape is not False

    @property
    def guards(self):
        return [ShapeGuard(text) for text in self._symbols.guards()]

    @property
    def replacements(self):
        return {_Symbol(a): _Symbol(b) for a, b in self._symbols.replacements()}

    @property
    def var_to_range(self):
        return {_Symbol(name): _range(lower, upper) for name, lower, upper, _, _ in self._symbols.symbols()}

    @property
    def var_to_val(self):
        return {_Symbol(name): value for name, _, _, value, _ in self._symbols.symbols() if value is not None}

    backed_var_to_val = var_to_val

    def create_unbacked_symint(self, source=None):
        return self._symbols.unbacked(False)

    def create_unbacked_symfloat(self):
        return self._symbols.unbacked(True)

    def format_guards(self, verbose=False):
        return "\n".join(f" - {guard.expr}" for guard in self.guards)


class _Symbol(str):
    """An expression, which prints as itself."""

    __repr__ = str.__str__


def guard_bool(a):
    """Whether it holds, with a guard."""
    return bool(a)


def guard_int(a):
    """The number, with a guard."""
    return int(a)


def guard_float(a):
    """The number, with a guard."""
    return float(a)


guard_size_oblivious = guard_bool


def guard_scalar(a):
    """A plain number or truth, with a guard."""
    if type(a) is torch.SymBool or isinstance(a, bool):
        return bool(a)
    return guard_int(a) if isinstance(a, int) else guard_float(a)


def statically_known_true(x):
    """Whether it holds whatever the symbols are."""
    return x if isinstance(x, bool) else x.node.decided() is True


def _guard_or(x, otherwise):
    if isinstance(x, bool):
        return x
    decided = x.node.decided()
    if decided is None:
        return bool(x) if x.node.is_known() else otherwise
    return decided


def guard_or_false(a):
    """Whether it holds; false where only a run would know."""
    return _guard_or(a, False)


def guard_or_true(a):
    """Whether it holds; true where only a run would know."""
    return _guard_or(a, True)


def is_symbolic(val):
    """Whether a number is symbolic."""
    return type(val) in (torch.SymInt, torch.SymFloat, torch.SymBool)


def is_concrete_int(a):
    """Whether an integer is a number."""
    return not is_symbolic(a)


def free_symbols(val):
    """The symbols of numbers, or of a tensor's sizes and strides."""
    if val is None:
        return set()
    if isinstance(val, torch.Tensor):
        return free_symbols(val.size()) | free_symbols(val.stride())
    if isinstance(val, (tuple, list)):
        return set().union(*map(free_symbols, val))
    if not is_symbolic(val):
        return set()
    return {_Symbol(name) for name in re.findall(r"\b(?:s|u|zf|zuf)\d+\b", str(val.node.expr))}


def free_unbacked_symbols(val):
    """Those that only a run would know."""
    return {name for name in free_symbols(val) if name.startswith(("u", "zuf"))}


def has_free_symbols(val):
    """Whether there are symbols in it."""
    return bool(free_symbols(val))


def sym_eq(x, y):
    """Whether two numbers, or lists of them, are equal."""
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        return len(x) == len(y) and all(map(sym_eq, x, y))
    return x == y


def expect_true(a, skip=0):
    """Holds, or is an error."""
    if isinstance(a, bool):
        return a
    torch._check(a)
    return True
