"""Distributions made of others: functions of simpler random variables, relaxed discrete ones, mixtures by rate."""

import math

import torch
from torch.distributions import constraints
from torch.distributions.continuous import Cauchy, Exponential, Gamma, Normal, Uniform
from torch.distributions.discrete import Categorical, OneHotCategorical, _ByProbability
from torch.distributions.distribution import Distribution, broadcast_all, clamp_probs
from torch.distributions.transformed_distribution import TransformedDistribution
from torch.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    StickBreakingTransform,
)
from torch.nn.functional import logsigmoid

# Euler's constant.
_EULER = 0.57721566490153286060


class HalfCauchy(TransformedDistribution):
    """The absolute value of a Cauchy distribution around zero."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale, validate_args=None):
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale)
    mode = property(lambda self: torch.zeros_like(self.scale))

    @property
    def mean(self):
        return torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self):
        return self.base_dist.variance

    def log_prob(self, value):
        self._check_sample(value)
        value = torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)

    def expand(self, batch_shape, _instance=None):
        return HalfCauchy(self.scale.expand(batch_shape), validate_args=False)


class Pareto(TransformedDistribution):
    """Above `scale`, with a tail of power `alpha`."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(loc=0, scale=self.scale)], validate_args=validate_args)

    support = property(lambda self: constraints.greater_than_eq(self.scale))
    mode = property(lambda self: self.scale)

    @property
    def mean(self):
        alpha = self.alpha.clamp(min=1)
        return alpha * self.scale / (alpha - 1)

    @property
    def variance(self):
        alpha = self.alpha.clamp(min=2)
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))

    def entropy(self):
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    """A power of an exponential distribution."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(torch.ones_like(self.scale), validate_args=validate_args)
        transforms = [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    mean = property(lambda self: self.scale * torch.exp(torch.lgamma(1 + self.concentration_reciprocal)))

    @property
    def mode(self):
        power = ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()
        return self.scale * power

    @property
    def variance(self):
        once, twice = (torch.lgamma(1 + k * self.concentration_reciprocal) for k in (1, 2))
        return self.scale.pow(2) * (torch.exp(twice) - torch.exp(2 * once))

    def entropy(self):
        return _EULER * (1 - self.concentration_reciprocal) + torch.log(self.scale * self.concentration_reciprocal) + 1


class InverseGamma(TransformedDistribution):
    """The reciprocal of a gamma distribution."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    concentration = property(lambda self: self.base_dist.concentration)
    rate = property(lambda self: self.base_dist.rate)
    mode = property(lambda self: self.rate / (self.concentration + 1))

    @property
    def mean(self):
        value = self.rate / (self.concentration - 1)
        return torch.where(self.concentration > 1, value, math.inf)

    @property
    def variance(self):
        value = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return torch.where(self.concentration > 2, value, math.inf)

    def entropy(self):
        slope = (1 + self.concentration) * self.concentration.digamma()
        return self.concentration + self.rate.log() + self.concentration.lgamma() - slope

    def expand(self, batch_shape, _instance=None):
        return InverseGamma(self.concentration.expand(batch_shape), self.rate.expand(batch_shape), validate_args=False)


class NegativeBinomial(_ByProbability):
    """The number of successes before `total_count` failures: a Poisson distribution whose rate is gamma distributed."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        self._take(probs, logits)
        self.total_count, parameter = broadcast_all(total_count, self._param)
        self.total_count = self.total_count.type_as(parameter)
        setattr(self, self._param_name, parameter)
        super().__init__(parameter.size(), validate_args=validate_args)

    mean = property(lambda self: self.total_count * torch.exp(self.logits))
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / torch.sigmoid(-self.logits))

    def _parameters(self):
        return {"total_count": self.total_count, self._param_name: self._param}

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            rate = Gamma(self.total_count, torch.exp(-self.logits), validate_args=False).sample(sample_shape)
            return torch.poisson(rate)

    def log_prob(self, value):
        self._check_sample(value)
        free = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        norm = -torch.lgamma(self.total_count + value) + torch.lgamma(1.0 + value) + torch.lgamma(self.total_count)
        return free - norm.masked_fill(self.total_count + value == 0.0, 0.0)


class LogitRelaxedBernoulli(_ByProbability):
    """The log odds of a relaxed coin."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        super().__init__(self._take(probs, logits), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        expanded = {self._param_name: self._param.expand(batch_shape)}
        return LogitRelaxedBernoulli(self.temperature, **expanded, validate_args=False)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        drawn = clamp_probs(torch.rand(shape, dtype=probs.dtype, device=probs.device))
        return (drawn.log() - (-drawn).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        away = logits - value.mul(self.temperature)
        return self.temperature.log() + away - 2 * away.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """A coin between its sides: nearer to one of them, the lower the temperature."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args)

    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)

    def expand(self, batch_shape, _instance=None):
        base = self.base_dist.expand(batch_shape)
        return RelaxedBernoulli(self.temperature, **base._parameters(), validate_args=False)


class ExpRelaxedCategorical(Distribution):
    """The logarithm of a relaxed choice."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    param_shape = property(lambda self: self._categorical.param_shape)
    logits = property(lambda self: self._categorical.logits)
    probs = property(lambda self: self._categorical.probs)

    def expand(self, batch_shape, _instance=None):
        logits = self.logits.expand(tuple(batch_shape) + tuple(self.event_shape))
        return ExpRelaxedCategorical(self.temperature, logits=logits, validate_args=False)

    def rsample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        drawn = clamp_probs(torch.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-drawn.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value):
        classes = self._categorical._num_events
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        scale = torch.full_like(self.temperature, float(classes)).lgamma() - self.temperature.log().mul(-(classes - 1))
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class RelaxedOneHotCategorical(TransformedDistribution):
    """A choice between corners of the simplex: nearer to one of them, the lower the temperature."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)

    def expand(self, batch_shape, _instance=None):
        logits = self.logits.expand(tuple(batch_shape) + tuple(self.event_shape))
        return RelaxedOneHotCategorical(self.temperature, logits=logits, validate_args=False)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A one-hot choice whose gradient is that of its probabilities."""

    has_rsample = True

    def rsample(self, sample_shape=torch.Size()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution: much like the beta distribution, with a simple cdf."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        low, high = torch.full_like(self.concentration0, 0), torch.full_like(self.concentration0, 1)
        steps = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(Uniform(low, high, validate_args=validate_args), steps, validate_args=validate_args)

    def _moment(self, order):
        a, b = self.concentration1, self.concentration0
        place = 1 + order / a
        return torch.exp(b.log() + torch.lgamma(place) + torch.lgamma(b) - torch.lgamma(place + b))

    mean = property(lambda self: self._moment(1))
    variance = property(lambda self: self._moment(2) - torch.pow(self.mean, 2))

    @property
    def mode(self):
        a, b = self.concentration1, self.concentration0
        logarithm = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        logarithm[(b < 1) | (a < 1)] = math.nan
        return logarithm.exp()

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        harmonic = torch.digamma(b + 1) + _EULER
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - torch.log(a) - torch.log(b)

    def expand(self, batch_shape, _instance=None):
        parameters = [one.expand(batch_shape) for one in (self.concentration1, self.concentration0)]
        return Kumaraswamy(*parameters, validate_args=False)


class LogisticNormal(TransformedDistribution):
    """Probabilities of normally distributed log odds, by breaking a stick."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)

    def expand(self, batch_shape, _instance=None):
        shape = tuple(batch_shape) + tuple(self.loc.shape[-1:])
        return LogisticNormal(self.loc.expand(shape), self.scale.expand(shape), validate_args=False)
