"""`ShapeEnv`: symbols for sizes, and what is known of them."""

import enum
import re
from dataclasses import dataclass, field

import torch
from torch import _native_fake
from torch._arguments import unobeyed
from torch._errors import GuardOnDataDependentSymNode
from torch.fx.experimental._expressions import Expr, Relational, Symbol, of
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges

__all__ = [
    "ShapeEnv", "DimDynamic", "StatelessSymbolicContext", "ConstraintViolationError", "GuardOnDataDependentSymNode", "guard_bool",
    "guard_int", "guard_float", "guard_scalar", "guard_or_false", "guard_or_true", "guard_size_oblivious", "statically_known_true",
    "StatefulSymbolicContext", "SymbolicContext", "StrictMinMaxConstraint", "RelaxedUnspecConstraint", "sym_and", "sym_or",
    "is_symbolic", "is_concrete_int", "has_free_symbols", "free_symbols", "free_unbacked_symbols", "sym_eq", "expect_true",
    "statically_known_false", "is_concrete_bool", "is_concrete_float", "has_static_value", "is_nested_int", "has_symbolic_sizes_strides",
    "has_free_unbacked_symbols", "is_accessor_node", "resolve_unbacked_bindings", "is_symbol_binding_fx_node", "guarding_hint_or_throw",
    "optimization_hint",
]  # fmt: skip


class ConstraintViolationError(RuntimeError):
    """A dimension is not as dynamic as the script said."""


class DimDynamic(enum.Enum):
    """How a size becomes a symbol."""

    DYNAMIC = 0
    DUCK = 1
    STATIC = 2
    UNBACKED = 3
    INFER_STRIDE = 4


@dataclass(frozen=True)
class Constraint:
    """What a script asked for of a size."""

    warn_only: bool


@dataclass(frozen=True)
class StrictMinMaxConstraint(Constraint):
    """The size is a symbol that may have every value of a range."""

    vr: ValueRanges

    def render(self, source):
        """What it says of a size that is found there."""
        return f"{self.vr.lower} <= {source.name} <= {self.vr.upper}"


@dataclass(frozen=True)
class RelaxedUnspecConstraint(Constraint):
    """The size is a symbol."""

    def render(self, source):
        """What it says of a size that is found there."""
        return f"RelaxedUnspecConstraint({source.name})"


@dataclass(frozen=True)
class SymbolicContext:
    """How a tensor becomes one with symbols."""


@dataclass(frozen=True)
class StatelessSymbolicContext(SymbolicContext):
    """How the sizes of a tensor become symbols."""

    dynamic_sizes: list
    dynamic_strides: list = None
    constraint_sizes: list = None
    constraint_strides: list = None
    specialize_on: list = None
    view_base_context: object = None

    def __post_init__(self):
        count = len(self.dynamic_sizes)
        for name, default in (("dynamic_strides", DimDynamic.INFER_STRIDE), ("constraint_sizes", None), ("constraint_strides", None)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, [default] * count)


@dataclass(frozen=True)
class StatefulSymbolicContext(StatelessSymbolicContext):
    """The same for a tensor that is asked for again and again: of one place, its symbols stay."""

    tensor_source: object = None
    shape_env_to_source_to_symbol_cache: dict = field(default_factory=dict)


@dataclass(frozen=True)
class ShapeGuard:
    """A condition that tracing relied on."""

    expr: str
    size_oblivious: bool = field(default=False, repr=False)


_LARGEST = 2**63 - 1


def _range(lower, upper):
    return ValueRanges(-int_oo if lower == -_LARGEST - 1 else lower, int_oo if upper == _LARGEST else upper)


class _Symbol(str):
    """An expression, which prints as itself."""

    __repr__ = str.__str__


class ShapeEnv:
    """Symbols for the sizes of tensors, and the conditions on them that a script's decisions installed."""

    def __init__(
        self,
        *,
        should_record_events=None,
        tracked_fakes=None,
        allow_scalar_outputs=True,
        allow_dynamic_output_shape_ops=True,
        assume_static_by_default=False,
        specialize_zero_one=True,
        duck_shape=None,
        prefer_deferred_runtime_asserts_over_guards=False,
        trace_asserts=False,
    ):
        unobeyed(
            "ShapeEnv", prefer_deferred_runtime_asserts_over_guards=(prefer_deferred_runtime_asserts_over_guards, False),
            trace_asserts=(trace_asserts, False), should_record_events=(should_record_events or None, None),
        )  # fmt: skip
        self._symbols = _native_fake.symbols()
        self.allow_scalar_outputs = allow_scalar_outputs
        self.allow_dynamic_output_shape_ops = allow_dynamic_output_shape_ops
        self.assume_static_by_default = assume_static_by_default
        self.specialize_zero_one, self.tracked_fakes = specialize_zero_one, tracked_fakes
        from torch.fx.experimental import _config

        self.duck_shape = _config.use_duck_shape if duck_shape is None else duck_shape
        self._keeps_small = not specialize_zero_one or _config.backed_size_oblivious
        if self._keeps_small:
            self._symbols.keep_small_sizes()
        self._made = {}

    @classmethod
    def _of(cls, symbols):
        made = cls()
        made._symbols = symbols
        return made

    # Symbols

    def create_symbol(
        self, val, source, dynamic_dim=DimDynamic.DUCK, constraint_dim=None, positive=True, do_not_specialize_zero_one=False,
        symbolic_context=None,
    ):  # fmt: skip
        """A symbol for a number that is found somewhere, or the number: zero, one and what is static."""
        unobeyed("ShapeEnv.create_symbol", symbolic_context=(symbolic_context, None))
        if positive and val < 0:
            raise AssertionError(f"positive set for negative value: {val}")
        if constraint_dim is not None:
            dynamic_dim = DimDynamic.DYNAMIC
        if dynamic_dim is DimDynamic.UNBACKED:
            return of(self.create_unbacked_symint(source))
        if dynamic_dim is DimDynamic.STATIC:
            return of(val)
        if dynamic_dim not in (DimDynamic.DUCK, DimDynamic.DYNAMIC):
            raise AssertionError(f"unhandled dynamic_dim {dynamic_dim}")
        keeps_small = do_not_specialize_zero_one or self._keeps_small
        if val in (0, 1) and not keeps_small:
            return of(val)
        lower, upper = (0 if keeps_small else 2, None) if positive else (None, None)
        if isinstance(constraint_dim, StrictMinMaxConstraint):
            asked = constraint_dim.vr
            lower = asked.lower if lower is None or isinstance(asked.lower, int) and asked.lower > lower else lower
            upper = asked.upper if isinstance(asked.upper, int) else None
            if not lower <= val <= (val if upper is None else upper):
                raise ConstraintViolationError(f"{val} not in range [{lower}, {int_oo if upper is None else upper}]")
        shared = dynamic_dim is DimDynamic.DUCK and bool(self.duck_shape)
        number = self._symbols.create(source.name, val, lower, upper, shared)
        return self._expression(number)

    def _expression(self, number):
        made = of(number)
        return self._made.setdefault(str(made), made)

    def create_unspecified_symbol(self, val, source, dynamic_dim=DimDynamic.DUCK, constraint_dim=None, symbolic_context=None):
        """A symbol for a number that may be anything."""
        return self.create_symbol(
            val, source, dynamic_dim, constraint_dim, positive=None, do_not_specialize_zero_one=True, symbolic_context=symbolic_context
        )

    def create_symintnode(self, sym, *, hint=None, source=None):
        """The number of an expression."""
        if isinstance(sym, int):
            return sym
        if isinstance(sym, Expr) and sym.is_number:
            return int(sym)
        number = getattr(sym, "_number", None)
        if number is not None and hint is not None and number.node.hint not in (None, hint):
            raise NotImplementedError(f"ShapeEnv.create_symintnode: the hint {hint} of {sym}, whose value is {number.node.hint}, is not available")
        if number is None:
            raise NotImplementedError(f"ShapeEnv.create_symintnode of {sym!r} is not available in the playground: it takes what create_symbol gave")
        return number

    def create_unspecified_symint_and_symbol(self, value, source, dynamic_dim, excluded_value=None):
        """The number of a symbol that may be anything."""
        unobeyed("ShapeEnv.create_unspecified_symint_and_symbol", excluded_value=(excluded_value, None))
        return self.create_symintnode(self.create_unspecified_symbol(value, source, dynamic_dim), hint=value, source=source)

    def create_unbacked_symint(self, source=None):
        """An integer that only a run knows."""
        return self._symbols.unbacked(False)

    def create_unbacked_symfloat(self):
        """A float that only a run knows."""
        return self._symbols.unbacked(True)

    def create_unbacked_symbool(self):
        """A truth that only a run knows."""
        number = self._symbols.unbacked(False)
        torch._check(number >= 0)
        torch._check(number <= 1)
        return number == 1

    def is_unbacked_symint(self, symbol):
        """Whether an integer's symbol is one that only a run knows."""
        return str(symbol).startswith("u")

    # What is known

    @property
    def guards(self):
        return [ShapeGuard(Relational(text)) for text in self._symbols.guards()]

    @property
    def replacements(self):
        return {Symbol(a): Expr(b) for a, b in self._symbols.replacements()}

    def _known(self):
        rows = {row[0]: row[1:] for row in self._symbols.symbols()}
        return [(self._made.get(name, Symbol(name)), *rows[name]) for name in self._symbols.created()]

    @property
    def var_to_range(self):
        return {name: _range(lower, upper) for name, lower, upper, _, _ in self._known()}

    @property
    def var_to_val(self):
        return {name: value for name, _, _, value, _ in self._known() if value is not None}

    backed_var_to_val = var_to_val

    @property
    def var_to_sources(self):
        from torch._dynamo.source import ConstantSource

        return {name: [ConstantSource(origin)] for name, _, _, _, origin in self._known()}

    def simplify(self, expr):
        """An expression with every known equality used."""
        number = getattr(expr, "_number", None)
        return of(self._symbols.simplify(number)) if type(number) is torch.SymInt else expr

    replace = simplify

    def evaluate_expr(self, orig_expr, hint=None, fx_node=None, size_oblivious=False, fallback_value=None, *, forcing_spec=False):
        """The value of an expression in this call, with a guard."""
        unobeyed("ShapeEnv.evaluate_expr", fallback_value=(fallback_value, None), size_oblivious=(size_oblivious, False), hint=(hint, None))
        unobeyed("ShapeEnv.evaluate_expr", fx_node=(fx_node, None), forcing_spec=(forcing_spec, False))
        if type(orig_expr) is bool:
            return orig_expr
        if isinstance(orig_expr, Expr) and orig_expr.is_number:
            return orig_expr
        number = getattr(orig_expr, "_number", None)
        if number is None:
            raise NotImplementedError(f"ShapeEnv.evaluate_expr of {orig_expr!r} is not available in the playground")
        return bool(number) if type(number) is torch.SymBool else of(int(number))

    def bound_sympy(self, expr, size_oblivious=False):
        """The least and the largest value of an expression."""
        unobeyed("ShapeEnv.bound_sympy", size_oblivious=(size_oblivious, False))
        number = getattr(expr, "_number", None)
        if number is None:
            return ValueRanges(int(expr), int(expr))
        lower, upper = self._symbols.bounds(number)
        return ValueRanges(-int_oo if lower is None else lower, int_oo if upper is None else upper)

    def size_hint(self, expr, *, allow_none=False):
        """The value of an expression in this call, without a guard."""
        number = getattr(expr, "_number", None)
        hint = int(expr) if number is None else number.node.hint
        if hint is None and not allow_none:
            raise GuardOnDataDependentSymNode(f"Could not extract specialized integer from data-dependent expression {expr} (unhinted: {expr}).")
        return hint

    guarding_hint_or_throw = optimization_hint = size_hint

    # Guards

    def format_guards(self, verbose=False):
        """Guards, one a line."""
        unobeyed("ShapeEnv.format_guards", verbose=(verbose, False))
        return "\n".join(f" - {guard.expr}" for guard in self.guards)

    def produce_guards(
        self, placeholders, sources, source_ref=lambda source: source.name, *, guards=None, input_contexts=None, equalities_inputs=None,
        _simplified=False, ignore_static=True,
    ):  # fmt: skip
        """Guards as Python, in terms of where inputs are found."""
        unobeyed("ShapeEnv.produce_guards", guards=(guards, None), equalities_inputs=(equalities_inputs, None), _simplified=(_simplified, False))
        from torch.fx.experimental._produced_guards import produce

        names = [source_ref(source) for source in sources]
        constraints = {}
        for name, context in zip(names, input_contexts or ()):
            for d, constraint in enumerate(getattr(context, "constraint_sizes", None) or ()):
                constraints[f"{name}.size()[{d}]"] = constraint
        return produce(self, placeholders, names, ignore_static, constraints)

    def produce_guards_expression(self, placeholders, *, guards=None, ignore_static=True):
        """Guards on inputs called `t0`, `t1`, ... as one expression; None where there are none."""
        from torch._dynamo.source import LocalSource

        sources = [LocalSource(f"t{i}") for i in range(len(placeholders))]
        made = self.produce_guards(placeholders, sources, guards=guards, ignore_static=ignore_static)
        return " and ".join(made) if made else None

    def evaluate_guards_expression(self, code, args):
        """Whether such an expression holds of arguments."""
        from torch.fx.experimental._produced_guards import evaluate

        return evaluate(code, args)

    def evaluate_guards_for_args(self, placeholders, args, *, ignore_static=True):
        """Whether the guards hold of arguments."""
        code = self.produce_guards_expression(placeholders, ignore_static=ignore_static)
        return self.evaluate_guards_expression(code, args) if code else True

    def bind_symbols(self, placeholders, args):
        """The values that symbols have for arguments."""
        from torch.fx.experimental._produced_guards import bind

        return bind(self, placeholders, args)

    def get_nontrivial_guards(self):
        """Guards that ranges and equalities do not say."""
        return [Relational(text) for text in self._symbols.produced()]

    def get_pruned_guards(self, symints):
        """Guards on the symbols of some numbers alone."""
        wanted = free_symbols([s for s in symints if is_symbolic(s)])
        return [guard for guard in self.guards if guard.expr.free_symbols <= set(map(Symbol, wanted))]


def guard_bool(a):
    """Whether it holds, with a guard."""
    return bool(a)


def guard_int(a):
    """The number, with a guard."""
    return int(a)


def guard_float(a):
    """The number, with a guard."""
    return float(a)


def guard_size_oblivious(expr):
    """Whether it holds; of what only a run knows, as if sizes were neither zero nor one."""
    if type(expr) is bool:
        return expr
    decided = expr.node.decided()
    return bool(expr) if decided is None else decided


def guard_scalar(a):
    """A plain number or truth, with a guard."""
    if type(a) is torch.SymBool or type(a) is bool:
        return bool(a)
    return guard_int(a) if isinstance(a, int) else guard_float(a)


def statically_known_true(x):
    """Whether it holds whatever the symbols are."""
    return x if type(x) is bool else x.node.decided() is True


def statically_known_false(x):
    """Whether it does not hold whatever the symbols are."""
    return not x if type(x) is bool else x.node.decided() is False


def _guard_or(x, otherwise):
    from torch.fx.experimental import _config

    if type(x) is bool:
        return x
    decided = x.node.decided()
    if decided is None:
        if _config.backed_size_oblivious:
            return otherwise
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
    """Whether an integer is a number, by now."""
    return not is_symbolic(a) or a.node.maybe_as_int() is not None


def is_concrete_bool(a):
    """Whether a condition is decided, by now."""
    return type(a) is bool or str(a.node.expr) in ("True", "False")


def is_concrete_float(a):
    """Whether a float is a number, by now."""
    return isinstance(a, float) or not free_symbols(a)


def has_static_value(a):
    """Whether a number can be one alone."""
    if not is_symbolic(a) or not free_symbols(a):
        return True
    return type(a) is torch.SymBool and a.node.decided() is not None


def is_nested_int(s):
    """Whether a size is one of a jagged tensor."""
    return type(s) is torch.SymInt and str(s.node.expr).startswith("j")


def has_symbolic_sizes_strides(elem):
    """Whether a size or stride of a tensor is a symbol."""
    return any(map(is_symbolic, (*elem.size(), *elem.stride(), elem.storage_offset())))


def has_free_unbacked_symbols(x):
    """Whether there are symbols in it that only a run would know."""
    return bool(free_unbacked_symbols(x))


def is_accessor_node(node):
    """Whether a node reads a size, a stride, an offset or the number of a tensor."""
    if node.op == "call_method" and node.target in ("size", "stride", "storage_offset", "item"):
        return isinstance(node.args[0], torch.fx.Node) and isinstance(node.args[0].meta.get("example_value"), torch.Tensor)
    return node.op == "call_function" and re.fullmatch(r"aten\.sym_(size|stride|storage_offset|numel)(\.\w+)?", str(node.target)) is not None


def resolve_unbacked_bindings(shape_env, bindings):
    """Where symbols that only a run would know come from, by the symbols."""
    if bindings is None:
        return None
    if shape_env is None:
        raise AssertionError("shape_env should not be None")
    return dict(bindings)


def is_symbol_binding_fx_node(node):
    """The symbol that a node brings about: an input, or what only a run would know; else None."""
    value = node.meta.get("val")
    if not isinstance(value, torch.SymInt):
        return None
    text = str(value.node.expr)
    symbol = next((name for name in free_symbols(value) if str(name) == text), None)
    is_bound = symbol is not None and str(symbol) in map(str, node.meta.get("unbacked_bindings") or ())
    return symbol if node.op == "placeholder" or is_bound else None


def guarding_hint_or_throw(a):
    """The number that a symbolic one has in the example."""
    if not is_symbolic(a):
        if type(a) not in (int, bool):
            raise AssertionError(f"Expected int, got {type(a)}")
        return a
    hint = a.node.hint
    if hint is None:
        raise GuardOnDataDependentSymNode(f"Could not find a hint of {a.node.expr}")
    return hint


def optimization_hint(a, fallback=None):
    """A number for decisions that may be wrong: the example's, or `fallback` where only a run would know."""
    if not is_symbolic(a):
        if type(a) is not int:
            raise AssertionError(f"Expected int, got {type(a)}")
        return a
    return fallback if a.node.hint is None else a.node.hint


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
    return {Symbol(name) for name in re.findall(r"\b(?:s|u|zf|zuf)\d+\b", str(val.node.expr))}


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


class _Several:
    """Conditions that hold together, or one of which holds: the node of a `SymBool`."""

    def __init__(self, conditions, together):
        self._conditions, self._together = conditions, together

    def guard_bool(self):
        return (all if self._together else any)(map(bool, self._conditions))

    def decided(self):
        known = {condition.node.decided() for condition in self._conditions}
        if (not self._together) in known:
            return not self._together
        return None if None in known else self._together

    def is_known(self):
        return all(condition.node.is_known() for condition in self._conditions)

    def text(self):
        return (" & " if self._together else " | ").join(f"({condition})" for condition in self._conditions)

    expr = property(text)

    def srepr(self):
        return f"{'And' if self._together else 'Or'}({', '.join(condition.node.srepr() for condition in self._conditions)})"

    def negated(self):
        return torch.SymBool(_Several([torch.sym_not(condition) for condition in self._conditions], not self._together))

    def expect(self, said=None):
        if not self._together:
            raise NotImplementedError("checking that one of several conditions on unbacked sizes holds is not available in the playground")
        return all([condition.node.expect(said) for condition in self._conditions])


def _several(conditions, together):
    open_ones = []
    for condition in conditions:
        decided = condition if type(condition) is bool else condition.node.decided()
        if decided is None:
            open_ones.append(condition)
        elif decided is not together:
            return not together
    if not open_ones:
        return together
    return open_ones[0] if len(open_ones) == 1 else torch.SymBool(_Several(open_ones, together))


def sym_and(x, *others):
    """Whether all conditions hold."""
    return _several([x, *others], True)


def sym_or(x, *others):
    """Whether one of some conditions holds."""
    return _several([x, *others], False)


def expect_true(a, skip=0):
    """Holds, or is an error."""
    if type(a) is bool:
        return a
    torch._check(a)
    return True
