"""Transforms of matrices, of parts of tensors, and by a distribution's cumulative function."""

import math

import torch
from torch.distributions import constraints
from torch.distributions.distribution import _open_interval, _sum_rightmost
from torch.distributions.transforms import Transform
from torch.nn import functional as F


class _Alike(Transform):
    """Equal to every other of its class."""

    def __eq__(self, other):
        return type(self) is type(other)

    __hash__ = object.__hash__


class LowerCholeskyTransform(_Alike):
    """Matrices to lower triangular ones with a positive diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_Alike):
    """Matrices to positive definite ones: products of a lower triangular one and its transpose."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x):
        root = LowerCholeskyTransform()(x)
        return root @ root.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


def _below_diagonal(n, device, by=1):
    rows = torch.arange(n, device=device)
    return rows < rows.view(-1, 1) + 1 - by


class CorrCholeskyTransform(_Alike):
    """Vectors to Cholesky factors of correlation matrices: each row takes its shares of a unit length."""

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        x = torch.tanh(x)
        x = x.clamp(**_open_interval(x.dtype, -1))
        root = (1 + (1 + 8 * x.shape[-1]) ** 0.5) / 2
        n = round(root)
        if n - root > torch.finfo(x.dtype).eps:
            raise ValueError(
                f"The size of last dimension is {x.shape[-1]} which cannot be expressed as the lower triangular part of a "
                "square D x D matrix."
            )
        r = x.new_zeros(x.shape[:-1] + (n, n))
        r[..., _below_diagonal(n, x.device)] = x
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + torch.eye(n, dtype=r.dtype, device=r.device)
        return r * F.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y):
        left = F.pad((1 - torch.cumsum(y * y, dim=-1))[..., :-1], [1, 0], value=1)
        below = _below_diagonal(y.shape[-1], y.device)
        t = y[..., below] / left[..., below].sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x, y, intermediates=None):
        left = (1 - (y * y).cumsum(dim=-1))[..., _below_diagonal(y.shape[-1], y.device, 2)]
        return 0.5 * left.log().sum(-1) + -2 * (x + F.softplus(-2 * x) - math.log(2.0)).sum(dim=-1)

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return tuple(shape[:-1]) + (n, n)

    def inverse_shape(self, shape):
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return tuple(shape[:-2]) + (shape[-1] * (shape[-1] - 1) // 2,)


class CumulativeDistributionTransform(Transform):
    """Values to the probability of smaller ones, in a distribution."""

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)


class CatTransform(Transform):
    """A transform for each stretch of a dimension."""

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.transforms = [one.with_cache(cache_size) for one in tseq] if cache_size else list(tseq)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")
        self.dim = dim

    event_dim = property(lambda self: max(one.event_dim for one in self.transforms))
    length = property(lambda self: sum(self.lengths))
    bijective = property(lambda self: all(one.bijective for one in self.transforms))
    domain = property(lambda self: constraints.cat([one.domain for one in self.transforms], self.dim, self.lengths))
    codomain = property(lambda self: constraints.cat([one.codomain for one in self.transforms], self.dim, self.lengths))

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, name, value):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for {name} with {value.dim()} dimensions")
        if value.size(self.dim) != self.length:
            raise AssertionError(f"{name}.size({self.dim}) = {value.size(self.dim)} must equal length {self.length}")
        starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        return [value.narrow(self.dim, start, length) for start, length in zip(starts, self.lengths)]

    def _call(self, x):
        return torch.cat([one(part) for one, part in zip(self.transforms, self._parts("x", x))], dim=self.dim)

    def _inverse(self, y):
        return torch.cat([one.inv(part) for one, part in zip(self.transforms, self._parts("y", y))], dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        terms = []
        for one, before, after in zip(self.transforms, self._parts("x", x), self._parts("y", y)):
            term = one.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, self.event_dim - one.event_dim) if one.event_dim < self.event_dim else term)
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return torch.cat(terms, dim=dim) if dim < 0 else sum(terms)


class StackTransform(Transform):
    """A transform for each slice of a dimension."""

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.transforms = [one.with_cache(cache_size) for one in tseq] if cache_size else list(tseq)
        self.dim = dim

    bijective = property(lambda self: all(one.bijective for one in self.transforms))
    domain = property(lambda self: constraints.stack([one.domain for one in self.transforms], self.dim))
    codomain = property(lambda self: constraints.stack([one.codomain for one in self.transforms], self.dim))

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _parts(self, name, value):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for {name} with {value.dim()} dimensions")
        if value.size(self.dim) != len(self.transforms):
            raise AssertionError(
                f"{name}.size({self.dim}) = {value.size(self.dim)} must equal number of transforms {len(self.transforms)}"
            )
        return [value.select(self.dim, i) for i in range(value.size(self.dim))]

    def _call(self, x):
        return torch.stack([one(part) for one, part in zip(self.transforms, self._parts("x", x))], dim=self.dim)

    def _inverse(self, y):
        return torch.stack([one.inv(part) for one, part in zip(self.transforms, self._parts("y", y))], dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        parts = zip(self.transforms, self._parts("x", x), self._parts("y", y))
        return torch.stack([one.log_abs_det_jacobian(before, after) for one, before, after in parts], dim=self.dim)
