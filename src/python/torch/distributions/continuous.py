"""Continuous distributions."""

import math

import torch
from torch.distributions import constraints
from torch.distributions.distribution import Distribution, ExponentialFamily, _Late, broadcast_all


def _standard_normal(shape, dtype, device):
    return torch.empty(shape, dtype=dtype, device=device).normal_()


def _shape_of(values, tensor):
    """The batch shape: none where all parameters are numbers."""
    return torch.Size() if all(isinstance(one, (int, float)) for one in values) else tensor.size()


class Normal(ExponentialFamily):
    """The normal distribution."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(_shape_of((loc, scale), self.loc), validate_args=validate_args)

    mean = mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def sample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        return self.loc + _standard_normal(shape, self.loc.dtype, self.loc.device) * self.scale

    def log_prob(self, value):
        self._check_sample(value)
        variance = self.scale**2
        log_scale = self.scale.log()
        return -((value - self.loc) ** 2) / (2 * variance) - log_scale - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value):
        self._check_sample(value)
        return 0.5 * (1 + torch.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value):
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale)


class LogNormal(Distribution):
    """The exponential of a normal distribution."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.base_dist = Normal(loc, scale, validate_args=validate_args)
        super().__init__(self.base_dist.batch_shape, validate_args=validate_args)

    loc = property(lambda self: self.base_dist.loc)
    scale = property(lambda self: self.base_dist.scale)

    def _parameters(self):
        return {"loc": self.loc, "scale": self.scale}

    mean = property(lambda self: (self.loc + self.scale.pow(2) / 2).exp())
    mode = property(lambda self: (self.loc - self.scale.square()).exp())

    @property
    def variance(self):
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def sample(self, sample_shape=torch.Size()):
        return self.base_dist.sample(sample_shape).exp()

    def rsample(self, sample_shape=torch.Size()):
        return self.base_dist.rsample(sample_shape).exp()

    def log_prob(self, value):
        self._check_sample(value)
        logarithm = value.log()
        return self.base_dist.log_prob(logarithm) - logarithm

    def cdf(self, value):
        return self.base_dist.cdf(value.log())

    def icdf(self, value):
        return self.base_dist.icdf(value).exp()

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class HalfNormal(Distribution):
    """The absolute value of a normal distribution around zero."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale, validate_args=None):
        self.base_dist = Normal(0, scale, validate_args=False)
        super().__init__(self.base_dist.batch_shape, validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale)

    def _parameters(self):
        return {"scale": self.scale}

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    mode = property(lambda self: torch.zeros_like(self.scale))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))

    def sample(self, sample_shape=torch.Size()):
        return self.base_dist.sample(sample_shape).abs()

    def rsample(self, sample_shape=torch.Size()):
        return self.base_dist.rsample(sample_shape).abs()

    def log_prob(self, value):
        self._check_sample(value)
        logarithm = self.base_dist.log_prob(value) + math.log(2)
        return torch.where(value >= 0, logarithm, -math.inf)

    def cdf(self, value):
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class Uniform(Distribution):
    """Uniform in [low, high)."""

    has_rsample = True

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(_shape_of((low, high), self.low), validate_args=validate_args)

    @property
    def arg_constraints(self):
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    support = property(lambda self: constraints.interval(self.low, self.high))
    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: torch.nan * self.high)
    variance = property(lambda self: (self.high - self.low).pow(2) / 12)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        drawn = torch.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value):
        self._check_sample(value)
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return torch.log(inside) - torch.log(self.high - self.low)

    def cdf(self, value):
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return torch.log(self.high - self.low)


class Laplace(Distribution):
    """The Laplace distribution."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(_shape_of((loc, scale), self.loc), validate_args=validate_args)

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale.pow(2))
    stddev = property(lambda self: (2**0.5) * self.scale)

    def rsample(self, sample_shape=torch.Size()):
        eps = torch.finfo(self.loc.dtype).eps
        drawn = self.loc.new_empty(self._extended_shape(sample_shape)).uniform_(eps - 1, 1)
        return self.loc - self.scale * drawn.sign() * torch.log1p(-drawn.abs())

    def log_prob(self, value):
        self._check_sample(value)
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def cdf(self, value):
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * torch.expm1(-away.abs() / self.scale)

    def icdf(self, value):
        term = value - 0.5
        return self.loc - self.scale * term.sign() * torch.log1p(-2 * term.abs())

    def entropy(self):
        return 1 + torch.log(2 * self.scale)


class Exponential(ExponentialFamily):
    """The exponential distribution."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(_shape_of((rate,), self.rate), validate_args=validate_args)

    mean = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: torch.zeros_like(self.rate))
    stddev = property(lambda self: self.rate.reciprocal())
    variance = property(lambda self: self.rate.pow(-2))

    def rsample(self, sample_shape=torch.Size()):
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value):
        self._check_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        return 1 - torch.exp(-self.rate * value)

    def icdf(self, value):
        return -torch.log1p(-value) / self.rate

    def entropy(self):
        return 1.0 - torch.log(self.rate)


class Gamma(ExponentialFamily):
    """The gamma distribution."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        shape = _shape_of((concentration, rate), self.concentration)
        super().__init__(shape, validate_args=validate_args)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate.pow(2))

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        value = torch._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=torch.finfo(value.dtype).tiny)
        return value

    def log_prob(self, value):
        value = torch.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._check_sample(value)
        return (
            torch.xlogy(self.concentration, self.rate)
            + torch.xlogy(self.concentration - 1, value)
            - self.rate * value
            - torch.lgamma(self.concentration)
        )

    def cdf(self, value):
        self._check_sample(value)
        return torch.special.gammainc(self.concentration, self.rate * value)

    def entropy(self):
        return (
            self.concentration
            - torch.log(self.rate)
            + torch.lgamma(self.concentration)
            + (1.0 - self.concentration) * torch.digamma(self.concentration)
        )


class Chi2(Gamma):
    """The chi-squared distribution."""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df, validate_args=None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    df = property(lambda self: self.concentration * 2)

    def expand(self, batch_shape, _instance=None):
        return Chi2(self.df.expand(batch_shape), False)


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution."""

    arg_constraints = {"concentration": constraints.positive_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    mean = property(lambda self: self.concentration / self.concentration.sum(-1, True))

    @property
    def mode(self):
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = (self.concentration < 1).all(dim=-1)
        mode[corner] = torch.nn.functional.one_hot(mode[corner].argmax(dim=-1), above.shape[-1]).to(mode)
        return mode

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape=()):
        return torch._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check_sample(value)
        return (
            torch.xlogy(self.concentration - 1.0, value).sum(-1)
            + torch.lgamma(self.concentration.sum(-1))
            - torch.lgamma(self.concentration).sum(-1)
        )

    def entropy(self):
        count = self.concentration.size(-1)
        total = self.concentration.sum(-1)
        return (
            torch.lgamma(self.concentration).sum(-1)
            - torch.lgamma(total)
            - (count - total) * torch.digamma(total)
            - ((self.concentration - 1.0) * torch.digamma(self.concentration)).sum(-1)
        )


class Beta(ExponentialFamily):
    """The beta distribution, as a Dirichlet distribution of two."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        pair = torch.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(pair, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    concentration1 = property(lambda self: self._dirichlet.concentration[..., 0])
    concentration0 = property(lambda self: self._dirichlet.concentration[..., 1])
    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = property(lambda self: self._dirichlet.mode[..., 0])

    @property
    def variance(self):
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def _parameters(self):
        return {}

    def rsample(self, sample_shape=()):
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value):
        self._check_sample(value)
        return self._dirichlet.log_prob(torch.stack([value, 1.0 - value], -1))

    def entropy(self):
        return self._dirichlet.entropy()

    def expand(self, batch_shape, _instance=None):
        return Beta(self.concentration1.expand(batch_shape), self.concentration0.expand(batch_shape), False)


class Cauchy(Distribution):
    """The Cauchy distribution."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(_shape_of((loc, scale), self.loc), validate_args=validate_args)

    mode = property(lambda self: self.loc)

    def _everywhere(self, value):
        return torch.full(self._extended_shape(), value, dtype=self.loc.dtype, device=self.loc.device)

    mean = property(lambda self: self._everywhere(math.nan))
    variance = property(lambda self: self._everywhere(math.inf))

    def rsample(self, sample_shape=torch.Size()):
        drawn = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + drawn * self.scale

    def log_prob(self, value):
        self._check_sample(value)
        return (
            -math.log(math.pi)
            - self.scale.log()
            - (((value - self.loc) / self.scale) ** 2).log1p()
        )

    def cdf(self, value):
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class StudentT(Distribution):
    """Student's t-distribution."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(_shape_of((df,), self.df), validate_args=validate_args)

    mode = property(lambda self: self.loc)

    @property
    def mean(self):
        mean = self.loc.clone(memory_format=torch.contiguous_format)
        mean[self.df <= 1] = math.nan
        return mean

    @property
    def variance(self):
        spread = self.scale.pow(2) * self.df / (self.df - 2)
        known = torch.where(self.df > 2, spread, math.inf)
        return torch.where(self.df <= 1, math.nan, known)

    def entropy(self):
        half = 0.5 * (self.df + 1)
        beta = torch.lgamma(0.5 * self.df) + math.lgamma(0.5) - torch.lgamma(half)
        slope = torch.digamma(half) - torch.digamma(0.5 * self.df)
        return self.scale.log() + half * slope + 0.5 * self.df.log() + beta

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, self.df.dtype, self.df.device)
        return self.loc + self.scale * (normal * torch.rsqrt(self._chi2.rsample(sample_shape) / self.df))

    def log_prob(self, value):
        self._check_sample(value)
        y = (value - self.loc) / self.scale
        norm = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + torch.lgamma(0.5 * self.df)
            - torch.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * torch.log1p(y**2.0 / self.df) - norm


class Gumbel(Distribution):
    """The Gumbel distribution."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(_shape_of((loc, scale), self.loc), validate_args=validate_args)

    mean = property(lambda self: self.loc + self.scale * 0.57721566490153286060)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def rsample(self, sample_shape=torch.Size()):
        info = torch.finfo(self.loc.dtype)
        low, high = torch.full_like(self.loc, info.tiny), torch.full_like(self.loc, 1 - info.eps)
        drawn = Uniform(low, high, validate_args=False).rsample(sample_shape)
        return self.loc - self.scale * (-drawn.log()).log()

    def log_prob(self, value):
        self._check_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def cdf(self, value):
        return torch.exp(-torch.exp((self.loc - value) / self.scale))

    def icdf(self, value):
        return self.loc - self.scale * torch.log(-torch.log(value))

    def entropy(self):
        return self.scale.log() + (1 + 0.57721566490153286060)


def _squared_distance(factor, away):
    """The squared Mahalanobis distances of vectors, by the Cholesky factor of the covariance. Batches of factors may be smaller than
    those of vectors: each batch size of vectors is taken apart into how often a factor serves and how many there are, so that a
    factor is solved for all of its vectors at once."""
    size, batch = away.size(-1), away.shape[:-1]
    own = factor.dim() - 2
    outer = len(batch) - own
    split = away.shape[:outer]
    for count, whole in zip(factor.shape[:-2], away.shape[outer:-1]):
        split += (whole // count, count)
    split += (size,)
    last = outer + 2 * own
    away = away.reshape(split)
    away = away.permute([*range(outer), *range(outer, last, 2), *range(outer + 1, last, 2), last])
    factors = factor.reshape(-1, size, size)
    vectors = away.reshape(-1, factors.size(0), size).permute(1, 2, 0)
    distances = torch.linalg.solve_triangular(factors, vectors, upper=False).pow(2).sum(-2).t()
    order = list(range(outer))
    for i in range(own):
        order += [outer + i, outer + own + i]
    return distances.reshape(away.shape[:-1]).permute(order).reshape(batch)


class MultivariateNormal(Distribution):
    """The normal distribution of vectors, by covariance, precision or the covariance's Cholesky factor."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = {name: matrix for name, matrix in given.items() if matrix is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(
                f"{name}{' matrix' if name == 'scale_tril' else ''} must be at least two-dimensional, with optional leading "
                "batch dimensions"
            )
        batch = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(tuple(batch) + (-1, -1)))
        self.loc = loc.expand(tuple(batch) + (-1,))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = scale_tril
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = self._from_precision(precision_matrix)

    @staticmethod
    def _from_precision(precision):
        factor = torch.linalg.cholesky(torch.flip(precision, (-2, -1)))
        inverse = torch.transpose(torch.flip(factor, (-2, -1)), -2, -1)
        identity = torch.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
        return torch.linalg.solve_triangular(inverse, identity, upper=False)

    def _full(self, matrix):
        return matrix.expand(tuple(self._batch_shape) + tuple(self._event_shape) + tuple(self._event_shape))

    @_Late
    def scale_tril(self):
        """The Cholesky factor of the covariance."""
        return self._full(self._unbroadcasted_scale_tril)

    @_Late
    def covariance_matrix(self):
        """The covariance."""
        return self._full(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @_Late
    def precision_matrix(self):
        """The inverse of the covariance."""
        return self._full(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self):
        return (
            self._unbroadcasted_scale_tril.pow(2)
            .sum(-1)
            .expand(tuple(self._batch_shape) + tuple(self._event_shape))
        )

    def rsample(self, sample_shape=torch.Size()):
        normal = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + torch.matmul(self._unbroadcasted_scale_tril, normal.unsqueeze(-1)).squeeze(-1)

    def _half_log_determinant(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value):
        self._check_sample(value)
        distance = _squared_distance(self._unbroadcasted_scale_tril, value - self.loc)
        volume = self._half_log_determinant()
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - volume

    def entropy(self):
        volume = self._half_log_determinant()
        value = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + volume
        return value if len(self._batch_shape) == 0 else value.expand(self._batch_shape)
