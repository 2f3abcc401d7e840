"""Sets of values: where parameters and samples have to be."""

import torch


class Constraint:
    """A set; `check` says which values are in it."""

    is_discrete = False
    event_dim = 0

    def __init__(self, text, check, is_discrete=False, event_dim=0):
        self.text, self._check = text, check
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def check(self, value):
        """Elementwise, whether values are in the set."""
        return self._check(value)

    def __repr__(self):
        return self.text


class _Bounded(Constraint):
    def __init__(self, name, check, **bounds):
        self.__dict__.update(bounds)
        text = ", ".join(f"{key}={value}" for key, value in bounds.items())
        super().__init__(f"{name}({text})", check)


def greater_than(lower_bound):
    """Above a bound."""
    return _Bounded("GreaterThan", lambda value: lower_bound < value, lower_bound=lower_bound)


def greater_than_eq(lower_bound):
    """Not below a bound."""
    return _Bounded("GreaterThanEq", lambda value: lower_bound <= value, lower_bound=lower_bound)


def less_than(upper_bound):
    """Below a bound."""
    return _Bounded("LessThan", lambda value: value < upper_bound, upper_bound=upper_bound)


def interval(lower_bound, upper_bound):
    """Between two bounds."""
    return _Bounded(
        "Interval",
        lambda value: (lower_bound <= value) & (value <= upper_bound),
        lower_bound=lower_bound,
        upper_bound=upper_bound,
    )


def half_open_interval(lower_bound, upper_bound):
    """From a bound to below another."""
    return _Bounded(
        "HalfOpenInterval",
        lambda value: (lower_bound <= value) & (value < upper_bound),
        lower_bound=lower_bound,
        upper_bound=upper_bound,
    )


def integer_interval(lower_bound, upper_bound):
    """Whole numbers between two bounds."""
    result = _Bounded(
        "IntegerInterval",
        lambda value: (value % 1 == 0) & (lower_bound <= value) & (value <= upper_bound),
        lower_bound=lower_bound,
        upper_bound=upper_bound,
    )
    result.is_discrete = True
    return result


real = Constraint("Real()", lambda value: value == value)
real_vector = Constraint("IndependentConstraint(Real(), 1)", lambda value: (value == value).all(-1), event_dim=1)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
boolean = Constraint("Boolean()", lambda value: (value == 0) | (value == 1), is_discrete=True)
nonnegative_integer = Constraint(
    "IntegerGreaterThan(lower_bound=0)", lambda value: (value % 1 == 0) & (value >= 0), is_discrete=True
)
simplex = Constraint(
    "Simplex()",
    lambda value: torch.all(value >= 0, dim=-1) & ((value.sum(-1) - 1).abs() < 1e-6),
    event_dim=1,
)
positive_vector = Constraint(
    "IndependentConstraint(GreaterThan(lower_bound=0.0), 1)", lambda value: (value > 0).all(-1), event_dim=1
)
one_hot = Constraint(
    "OneHot()",
    lambda value: ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1),
    is_discrete=True,
    event_dim=1,
)
positive_definite = Constraint(
    "PositiveDefinite()", lambda value: torch.linalg.cholesky_ex(value).info.eq(0), event_dim=2
)
lower_cholesky = Constraint(
    "LowerCholesky()",
    lambda value: (
        (value.tril() == value).view(value.shape[:-2] + (-1,)).min(-1)[0]
        & (value.diagonal(dim1=-2, dim2=-1) > 0).min(-1)[0]
    ),
    event_dim=2,
)


def independent(base, count):
    """A set of tensors: the last dimensions count as one value."""
    return Constraint(
        f"IndependentConstraint({base!r}, {count})",
        lambda value: base.check(value).reshape(value.shape[: value.dim() - count] + (-1,)).all(-1),
        is_discrete=base.is_discrete,
        event_dim=base.event_dim + count,
    )


def _is_correlation_root(value):
    tolerance = torch.finfo(value.dtype).eps * value.size(-1) * 10
    length = torch.linalg.norm(value.detach(), dim=-1)
    return lower_cholesky.check(value) & (length - 1).abs().le(tolerance).all(dim=-1)


corr_cholesky = Constraint("CorrCholesky()", _is_correlation_root, event_dim=2)
