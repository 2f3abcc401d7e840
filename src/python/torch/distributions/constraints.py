"""Sets of values: where parameters and samples have to be. A set's class is what a transform onto it is registered for."""

import torch


class Constraint:
    """A set; `check` says which values are in it, where the last `event_dim` dimensions count as one value."""

    is_discrete = False
    event_dim = 0

    def check(self, value):
        """Elementwise, whether values are in the set."""
        raise NotImplementedError

    def __repr__(self):
        return self.__class__.__name__[1:] + "()"


def _bounded(name, bounds, check, discrete=False):
    """A class of sets that a comparison with bounds describes."""

    def __init__(self, *values, **named):
        given = dict(zip(bounds, values)) | named
        if len(values) > len(bounds) or set(given) != set(bounds):
            raise TypeError(f"{name}.__init__() takes {', '.join(bounds)}")
        self.__dict__.update(given)

    def text(self):
        return f"{name[1:]}({', '.join(f'{key}={getattr(self, key)}' for key in bounds)})"

    body = {"__init__": __init__, "__repr__": text, "check": check, "is_discrete": discrete, "__module__": __name__}
    return type(name, (Constraint,), body)


def _whole(value):
    return value % 1 == 0


greater_than = _bounded("_GreaterThan", ["lower_bound"], lambda self, value: self.lower_bound < value)
greater_than_eq = _bounded("_GreaterThanEq", ["lower_bound"], lambda self, value: self.lower_bound <= value)
less_than = _bounded("_LessThan", ["upper_bound"], lambda self, value: value < self.upper_bound)
interval = _bounded(
    "_Interval",
    ["lower_bound", "upper_bound"],
    lambda self, value: (self.lower_bound <= value) & (value <= self.upper_bound),
)
half_open_interval = _bounded(
    "_HalfOpenInterval",
    ["lower_bound", "upper_bound"],
    lambda self, value: (self.lower_bound <= value) & (value < self.upper_bound),
)
integer_interval = _bounded(
    "_IntegerInterval",
    ["lower_bound", "upper_bound"],
    lambda self, value: _whole(value) & (self.lower_bound <= value) & (value <= self.upper_bound),
    discrete=True,
)
_IntegerGreaterThan = _bounded(
    "_IntegerGreaterThan", ["lower_bound"], lambda self, value: _whole(value) & (value >= self.lower_bound), discrete=True
)


class _Real(Constraint):
    def check(self, value):
        return value == value


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value):
        return torch.all(value >= 0, dim=-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class multinomial(Constraint):
    """Counts that add up to a number at most."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return (value >= 0).all(dim=-1) & (value.sum(dim=-1) <= self.upper_bound)

    def __repr__(self):
        return "Multinomial()"


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value):
        return (value.tril() == value).view(value.shape[:-2] + (-1,)).min(-1)[0]


class _LowerCholesky(_LowerTriangular):
    def check(self, value):
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).min(-1)[0]


class _CorrCholesky(_LowerCholesky):
    def check(self, value):
        tolerance = torch.finfo(value.dtype).eps * value.size(-1) * 10
        length = torch.linalg.norm(value.detach(), dim=-1)
        return super().check(value) & (length - 1).abs().le(tolerance).all(dim=-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value):
        is_square = value.shape[-2] == value.shape[-1]
        return torch.full(value.shape[:-2], is_square, dtype=torch.bool, device=value.device)


class _Symmetric(_Square):
    def check(self, value):
        square = super().check(value)
        return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1) if square.all() else square


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        return torch.linalg.eigvalsh(value).ge(0).all(-1) if symmetric.all() else symmetric


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        return torch.linalg.cholesky_ex(value).info.eq(0) if symmetric.all() else symmetric


class _IndependentConstraint(Constraint):
    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value):
        result, count = self.base_constraint.check(value), self.reinterpreted_batch_ndims
        if result.dim() < count:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return result.reshape(result.shape[: result.dim() - count] + (-1,)).all(-1)

    def __repr__(self):
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class _Several(Constraint):
    """Parts of a tensor that are in a set each."""

    is_discrete = property(lambda self: any(one.is_discrete for one in self.cseq))
    event_dim = property(lambda self: max(one.event_dim for one in self.cseq))


class _Cat(_Several):
    def __init__(self, cseq, dim=0, lengths=None):
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    def check(self, value):
        parts = value.split(self.lengths, self.dim)
        return torch.cat([one.check(part) for one, part in zip(self.cseq, parts)], self.dim)


class _Stack(_Several):
    def __init__(self, cseq, dim=0):
        self.cseq, self.dim = list(cseq), dim

    @property
    def event_dim(self):
        dim = max(one.event_dim for one in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value):
        parts = value.unbind(self.dim)
        return torch.stack([one.check(part) for one, part in zip(self.cseq, parts)], self.dim)


independent, cat, stack = _IndependentConstraint, _Cat, _Stack
real = _Real()
real_vector = independent(real, 1)
positive = greater_than(0.0)
positive_vector = independent(positive, 1)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
boolean = _Boolean()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
simplex = _Simplex()
one_hot = _OneHot()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
