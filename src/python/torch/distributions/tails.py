"""Distributions of angles, ratios, tails, and of numbers between zero and one."""

import math

import torch
from torch.distributions import constraints
from torch.distributions.continuous import Gamma, _shape_of
from torch.distributions.distribution import (
    Distribution,
    ExponentialFamily,
    _Late,
    broadcast_all,
    clamp_probs,
    logits_to_probs,
    probs_to_logits,
)
from torch.nn.functional import binary_cross_entropy_with_logits

# Polynomials for the modified Bessel functions of order 0 and 1, lowest power first: in the square of x / 3.75 up to there, in
# its inverse above. Source: Abramowitz and Stegun, 9.8.1 to 9.8.4.
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411),
)
_LARGE = (
    (0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537, -0.01647633, 0.00392377),
    (0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967, -0.02895312, 0.01787654, -0.00420059),
)


def _polynomial(x, coefficients):
    value = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = coefficient + x * value
    return value


def _log_bessel(x, order):
    y = x / 3.75
    small = _polynomial(y * y, _SMALL[order])
    if order == 1:
        small = x.abs() * small
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return torch.where(x < 3.75, small.log(), large)


class VonMises(Distribution):
    """The von Mises distribution of angles."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, torch.Size(), validate_args)

    mean = mode = property(lambda self: self.loc)

    @_Late
    def variance(self):
        """The circular variance."""
        return 1 - (_log_bessel(self.concentration, 1) - _log_bessel(self.concentration, 0)).exp()

    def log_prob(self, value):
        self._check_sample(value)
        density = self.concentration * torch.cos(value - self.loc)
        return density - math.log(2 * math.pi) - _log_bessel(self.concentration, 0)

    @torch.no_grad()
    def sample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        # In double precision: rejection would not end for small concentrations otherwise.
        loc, kappa = self.loc.to(torch.double), self.concentration.to(torch.double)
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        proposal = torch.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
        x = torch.empty(shape, dtype=loc.dtype, device=loc.device)
        done = torch.zeros(x.shape, dtype=torch.bool, device=loc.device)
        while not done.all():
            first, second, third = torch.rand((3,) + tuple(x.shape), dtype=loc.dtype, device=loc.device).unbind()
            z = torch.cos(math.pi * first)
            f = (1 + proposal * z) / (proposal + z)
            c = kappa * (proposal - f)
            accept = ((c * (2 - c) - second) > 0) | ((c / second).log() + 1 - c >= 0)
            if accept.any():
                x = torch.where(accept, (third - 0.5).sign() * f.acos(), x)
                done = done | accept
        return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)


class FisherSnedecor(Distribution):
    """The F-distribution: a ratio of two chi-squared variables over their degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._numerator = Gamma(self.df1 * 0.5, self.df1)
        self._denominator = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(_shape_of((df1, df2), self.df1), validate_args=validate_args)

    def _df2_above(self, bound):
        df2 = self.df2.clone(memory_format=torch.contiguous_format)
        df2[df2 <= bound] = math.nan
        return df2

    @property
    def mean(self):
        df2 = self._df2_above(2)
        return df2 / (df2 - 2)

    @property
    def mode(self):
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        mode[self.df1 <= 2] = math.nan
        return mode

    @property
    def variance(self):
        df2 = self._df2_above(4)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape=torch.Size(())):
        shape = self._extended_shape(sample_shape)
        above = self._numerator.rsample(sample_shape).view(shape)
        below = self._denominator.rsample(sample_shape).view(shape)
        tiny = torch.finfo(below.dtype).tiny
        below.clamp_(min=tiny)
        ratio = above / below
        ratio.clamp_(min=tiny)
        return ratio

    def log_prob(self, value):
        self._check_sample(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        constant = (a + b).lgamma() - a.lgamma() - b.lgamma()
        power = a * ratio.log() + (a - 1) * torch.log(value)
        return constant + power - (a + b) * torch.log1p(ratio * value)


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution: what lies above a threshold."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(_shape_of((loc, scale, concentration), self.loc), validate_args=validate_args)

    mode = property(lambda self: self.loc)

    @property
    def support(self):
        """From the location on; up to an end where the concentration is negative."""
        end = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, end)

    def _concentration(self):
        """Where it is zero, and the concentration with ones there."""
        is_zero = torch.isclose(self.concentration, torch.tensor(0.0))
        return is_zero, torch.where(is_zero, torch.ones_like(self.concentration), self.concentration)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value):
        self._check_sample(value)
        z = (value - self.loc) / self.scale
        is_zero, safe = self._concentration()
        y = 1 / safe + torch.ones_like(z)
        return -self.scale.log() - torch.where(is_zero, z, torch.where(y == 0, y, y * torch.log1p(safe * z)))

    def log_survival_function(self, value):
        """The logarithm of the probability of more."""
        self._check_sample(value)
        z = (value - self.loc) / self.scale
        is_zero, safe = self._concentration()
        return torch.where(is_zero, -z, -torch.log1p(safe * z) / safe)

    def log_cdf(self, value):
        """The logarithm of the distribution function."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value):
        return torch.exp(self.log_cdf(value))

    def icdf(self, value):
        is_zero, safe = self._concentration()
        rest = torch.log1p(-value)
        curved = self.loc + self.scale / safe * torch.expm1(-safe * rest)
        return torch.where(is_zero, self.loc - self.scale * rest, curved)

    @property
    def mean(self):
        known = self.concentration < 1
        safe = torch.where(known, self.concentration, 0.5)
        return torch.where(known, self.loc + self.scale / (1 - safe), math.nan)

    @property
    def variance(self):
        known = self.concentration < 0.5
        safe = torch.where(known, self.concentration, 0.25)
        return torch.where(known, self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe)), math.nan)

    def entropy(self):
        return torch.broadcast_to(torch.log(self.scale) + self.concentration + 1, self._batch_shape)


class ContinuousBernoulli(ExponentialFamily):
    """Numbers between zero and one, with the likelihood of a Bernoulli distribution made to integrate to one."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        given = probs if logits is None else logits
        if logits is None:
            (self.probs,) = broadcast_all(probs)
            if validate_args is not None and not constraints.unit_interval.check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        else:
            (self.logits,) = broadcast_all(logits)
        self._param = self.probs if logits is None else self.logits
        self._lims = lims
        super().__init__(_shape_of((given,), self._param), validate_args=validate_args)

    @_Late
    def logits(self):
        """Log odds of the probabilities."""
        return probs_to_logits(self.probs, is_binary=True)

    @_Late
    def probs(self):
        """Probabilities of the log odds."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    param_shape = property(lambda self: self._param.size())

    def expand(self, batch_shape, _instance=None):
        name = "probs" if "probs" in self.__dict__ and self._param is self.probs else "logits"
        return ContinuousBernoulli(**{name: self._param.expand(batch_shape)}, lims=self._lims, validate_args=False)

    def _is_stable(self):
        return torch.max(torch.le(self.probs, self._lims[0]), torch.gt(self.probs, self._lims[1]))

    def _cut(self):
        """Probabilities away from one half, around which a Taylor expansion is taken."""
        return torch.where(self._is_stable(), self.probs, self._lims[0] * torch.ones_like(self.probs))

    def _log_norm(self):
        cut = self._cut()
        below = torch.where(torch.le(cut, 0.5), cut, torch.zeros_like(cut))
        above = torch.where(torch.ge(cut, 0.5), cut, torch.ones_like(cut))
        width = torch.where(torch.le(cut, 0.5), torch.log1p(-2.0 * below), torch.log(2.0 * above - 1.0))
        value = torch.log(torch.abs(torch.log1p(-cut) - torch.log(cut))) - width
        x = torch.pow(self.probs - 0.5, 2)
        return torch.where(self._is_stable(), value, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self):
        cut = self._cut()
        value = cut / (2.0 * cut - 1.0) + 1.0 / (torch.log1p(-cut) - torch.log(cut))
        x = self.probs - 0.5
        return torch.where(self._is_stable(), value, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * torch.pow(x, 2)) * x)

    @property
    def variance(self):
        cut = self._cut()
        value = cut * (cut - 1.0) / torch.pow(1.0 - 2.0 * cut, 2)
        value = value + 1.0 / torch.pow(torch.log1p(-cut) - torch.log(cut), 2)
        x = torch.pow(self.probs - 0.5, 2)
        return torch.where(self._is_stable(), value, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value):
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._log_norm()

    def cdf(self, value):
        self._check_sample(value)
        cut = self._cut()
        inside = torch.pow(cut, value) * torch.pow(1.0 - cut, 1.0 - value) + cut - 1.0
        inside = torch.where(self._is_stable(), inside / (2.0 * cut - 1.0), value)
        above = torch.where(torch.ge(value, 1.0), torch.ones_like(value), inside)
        return torch.where(torch.le(value, 0.0), torch.zeros_like(value), above)

    def icdf(self, value):
        cut = self._cut()
        curved = torch.log1p(-cut + value * (2.0 * cut - 1.0)) - torch.log1p(-cut)
        return torch.where(self._is_stable(), curved / (torch.log(cut) - torch.log1p(-cut)), value)

    def entropy(self):
        zero, one = torch.log1p(-self.probs), torch.log(self.probs)
        return self.mean * (zero - one) - self._log_norm() - zero
