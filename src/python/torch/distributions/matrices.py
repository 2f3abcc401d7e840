"""Distributions of matrices, and of vectors whose covariance is of low rank."""

import math
import warnings

import torch
from torch.distributions import constraints
from torch.distributions.continuous import Beta, Chi2, MultivariateNormal, _squared_distance, _standard_normal
from torch.distributions.distribution import Distribution, ExponentialFamily, _Late, broadcast_all


def _apply(matrix, vector):
    return torch.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def _plus_identity(matrix):
    size = matrix.size(-1)
    matrix = matrix.contiguous()
    matrix.view(-1, size * size)[:, :: size + 1] += 1
    return matrix


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors whose covariance is `cov_factor @ cov_factor.T + diag(cov_diag)`."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            wide = torch.broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_factor, self.cov_diag = wide[0][..., 0], wide[1], wide[2][..., 0]
        self._factor, self._diagonal = cov_factor, cov_diag
        # The determinant and the inverse of the small matrix stand for those of the large one.
        scaled = cov_factor.mT / cov_diag.unsqueeze(-2)
        self._small = torch.linalg.cholesky(_plus_identity(torch.matmul(scaled, cov_factor)))
        super().__init__(self.loc.shape[:-1], event, validate_args=validate_args)

    mean = mode = property(lambda self: self.loc)

    def _full(self, matrix):
        return matrix.expand(tuple(self._batch_shape) + tuple(self._event_shape) * 2)

    @_Late
    def variance(self):
        """The variance of each element."""
        spread = self._factor.pow(2).sum(-1) + self._diagonal
        return spread.expand(tuple(self._batch_shape) + tuple(self._event_shape))

    @_Late
    def scale_tril(self):
        """The Cholesky factor of the covariance."""
        root = self._diagonal.sqrt().unsqueeze(-1)
        scaled = self._factor / root
        return self._full(root * torch.linalg.cholesky(_plus_identity(torch.matmul(scaled, scaled.mT))))

    @_Late
    def covariance_matrix(self):
        """The covariance."""
        return self._full(torch.matmul(self._factor, self._factor.mT) + torch.diag_embed(self._diagonal))

    @_Late
    def precision_matrix(self):
        """The inverse of the covariance."""
        scaled = self._factor.mT / self._diagonal.unsqueeze(-2)
        solved = torch.linalg.solve_triangular(self._small, scaled, upper=False)
        return self._full(torch.diag_embed(self._diagonal.reciprocal()) - solved.mT @ solved)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        inner = tuple(shape[:-1]) + tuple(self.cov_factor.shape[-1:])
        of_factor = _standard_normal(inner, self.loc.dtype, self.loc.device)
        own = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + _apply(self._factor, of_factor) + self._diagonal.sqrt() * own

    def log_prob(self, value):
        self._check_sample(value)
        away = value - self.loc
        projected = _apply(self._factor.mT / self._diagonal.unsqueeze(-2), away)
        own = (away.pow(2) / self._diagonal).sum(-1)
        distance = own - _squared_distance(self._small, projected)
        volume = self._log_determinant()
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + volume + distance)

    def _log_determinant(self):
        return 2 * self._small.diagonal(dim1=-2, dim2=-1).log().sum(-1) + self._diagonal.log().sum(-1)

    def entropy(self):
        value = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_determinant())
        return value if len(self._batch_shape) == 0 else value.expand(self._batch_shape)


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices; the larger the concentration, the nearer to the identity."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # A row's length below the diagonal, squared.
        place = torch.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        place = torch.cat([place.new_zeros((1,)), place])
        rest = (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * place
        self._beta = Beta(place + 0.5, rest)
        super().__init__(self.concentration.size(), torch.Size((dim, dim)), validate_args)

    def expand(self, batch_shape, _instance=None):
        return LKJCholesky(self.dim, self.concentration.expand(batch_shape), validate_args=False)

    def sample(self, sample_shape=torch.Size()):
        length = self._beta.sample(sample_shape).unsqueeze(-1)
        shape = self._extended_shape(sample_shape)
        normal = torch.randn(shape, dtype=length.dtype, device=length.device).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)
        rows = torch.sqrt(length) * direction
        tiny = torch.finfo(rows.dtype).tiny
        return rows + torch.diag_embed(torch.clamp(1 - torch.sum(rows**2, dim=-1), min=tiny).sqrt())

    def log_prob(self, value):
        self._check_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        row = torch.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - row
        density = torch.sum(order * diagonal.log(), dim=-1)
        count = self.dim - 1
        alpha = self.concentration + 0.5 * count
        constant = 0.5 * count * math.log(math.pi)
        return density - (constant + torch.mvlgamma(alpha - 0.5, count) - torch.lgamma(alpha) * count)


class Wishart(ExponentialFamily):
    """Sums of `df` outer products of normal vectors, by covariance, precision or the covariance's Cholesky factor."""

    support = constraints.positive_definite
    has_rsample = True

    @property
    def arg_constraints(self):
        """What parameters have to be: the degrees of freedom are at least the size."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        given = {name: matrix for name, matrix in given.items() if matrix is not None}
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, (int, float)):
            batch = torch.Size(matrix.shape[:-2])
            self.df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch)
        size = matrix.shape[-1]
        if self.df.le(size - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        setattr(self, name, matrix.expand(tuple(batch) + (-1, -1)))
        if self.df.lt(size).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        self._over_batch = [-(n + 1) for n in range(len(self._batch_shape))]
        if name == "scale_tril":
            self._root = matrix
        elif name == "covariance_matrix":
            self._root = torch.linalg.cholesky(matrix)
        else:
            self._root = MultivariateNormal._from_precision(matrix)
        row = torch.arange(size, dtype=self._root.dtype, device=self._root.device).expand(tuple(batch) + (-1,))
        self._chi2 = Chi2(df=self.df.unsqueeze(-1) - row)

    def expand(self, batch_shape, _instance=None):
        shape = torch.Size(batch_shape)
        root = self._root.expand(tuple(shape) + tuple(self._event_shape))
        return Wishart(self.df.expand(shape), scale_tril=root, validate_args=False)

    def _full(self, matrix):
        return matrix.expand(tuple(self._batch_shape) + tuple(self._event_shape))

    @_Late
    def scale_tril(self):
        """The Cholesky factor of the covariance."""
        return self._full(self._root)

    @_Late
    def covariance_matrix(self):
        """The covariance."""
        return self._full(self._root @ self._root.transpose(-2, -1))

    @_Late
    def precision_matrix(self):
        """The inverse of the covariance."""
        identity = torch.eye(self._event_shape[-1], device=self._root.device, dtype=self._root.dtype)
        return self._full(torch.cholesky_solve(identity, self._root))

    def _times(self, factor, matrix):
        return factor.view(tuple(self._batch_shape) + (1, 1)) * matrix

    @property
    def mean(self):
        return self._times(self.df, self.covariance_matrix)

    @property
    def mode(self):
        factor = self.df - self._event_shape[-1] - 1
        factor[factor <= 0] = math.nan
        return self._times(factor, self.covariance_matrix)

    @property
    def variance(self):
        full = self.covariance_matrix
        diagonal = full.diagonal(dim1=-2, dim2=-1)
        return self._times(self.df, full.pow(2) + torch.einsum("...i,...j->...ij", diagonal, diagonal))

    def _drawn(self, sample_shape):
        size = self._event_shape[-1]
        root = self._chi2.rsample(sample_shape).sqrt()
        noise = root.clamp(min=torch.finfo(root.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        row, column = torch.tril_indices(size, size, offset=-1)
        below = tuple(sample_shape) + tuple(self._batch_shape) + (size * (size - 1) // 2,)
        noise[..., row, column] = torch.randn(below, dtype=noise.dtype, device=noise.device)
        drawn = self._root @ noise
        return drawn @ drawn.transpose(-2, -1)

    def rsample(self, sample_shape=torch.Size(), max_try_correction=None):
        sample = self._drawn(torch.Size(sample_shape))
        # As in PyTorch, samples that are positive definite are drawn once more.
        again = self.support.check(sample)
        if self._batch_shape:
            again = again.amax(self._over_batch)
        if again.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
            for _ in range(10 if max_try_correction is None else max_try_correction):
                fresh = self._drawn(again[again].shape)
                sample[again] = fresh
                still = ~self.support.check(fresh)
                if self._batch_shape:
                    still = still.amax(self._over_batch)
                again[again.clone()] = still
                if not again.any():
                    break
        return sample

    def _half_log_determinant(self):
        size = self._event_shape[-1]
        return size * math.log(2) / 2 + self._root.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value):
        self._check_sample(value)
        df, size = self.df, self._event_shape[-1]
        trace = torch.cholesky_solve(value, self._root).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        volume = (df - size - 1) / 2 * torch.linalg.slogdet(value).logabsdet
        return -df * self._half_log_determinant() - torch.mvlgamma(df / 2, p=size) + volume - trace / 2

    def entropy(self):
        df, size = self.df, self._event_shape[-1]
        steps = torch.arange(size, dtype=df.dtype, device=df.device).div(2).expand(tuple(df.shape) + (-1,))
        slope = torch.digamma((df / 2).unsqueeze(-1) - steps).sum(-1)
        gamma = torch.mvlgamma(df / 2, p=size)
        return (size + 1) * self._half_log_determinant() + gamma - (df - size - 1) / 2 * slope + df * size / 2
