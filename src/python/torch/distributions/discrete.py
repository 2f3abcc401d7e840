"""Discrete distributions."""

import torch
from torch.distributions import constraints
from torch.distributions.distribution import (
    Distribution,
    ExponentialFamily,
    _Late,
    broadcast_all,
    logits_to_probs,
    probs_to_logits,
)
from torch.nn.functional import binary_cross_entropy_with_logits


class _ByProbability(ExponentialFamily):
    """A distribution by probabilities or by log odds (or log probabilities)."""

    _binary = True

    def _take(self, probs, logits):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._param_name = "logits" if probs is None else "probs"
        value = logits if probs is None else probs
        (tensor,) = broadcast_all(value)
        setattr(self, self._param_name, tensor)
        return torch.Size() if isinstance(value, (int, float)) else tensor.size()

    @property
    def _param(self):
        return getattr(self, self._param_name)

    @_Late
    def logits(self):
        """Log odds, or log probabilities."""
        return probs_to_logits(self.probs, is_binary=self._binary)

    @_Late
    def probs(self):
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._binary)

    def _parameters(self):
        return {self._param_name: self._param}

    def _along_first(self, values, expand):
        """A support's values along a first dimension, before those of the batch."""
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values

    @property
    def param_shape(self):
        """The shape of the parameter."""
        return self._param.size()


class Bernoulli(_ByProbability):
    """Zero or one."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        super().__init__(self._take(probs, logits), validate_args=validate_args)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self):
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = torch.nan
        return mode

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        """Zero and one."""
        values = torch.arange(2, dtype=self._param.dtype, device=self._param.device)
        return self._along_first(values, expand)


class Geometric(_ByProbability):
    """The number of failures before the first success."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        super().__init__(self._take(probs, logits), validate_args=validate_args)

    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: torch.zeros_like(self.probs))
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def sample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        tiny = torch.finfo(self.probs.dtype).tiny
        with torch.no_grad():
            drawn = self.probs.new(shape).uniform_(tiny, 1)
            return (drawn.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        self._check_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.clone(memory_format=torch.contiguous_format)
        probs[(probs == 1) & (value == 0)] = 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs


class Binomial(_ByProbability):
    """The number of successes among several."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        self._take(probs, logits)
        self.total_count, parameter = broadcast_all(total_count, self._param)
        self.total_count = self.total_count.type_as(parameter)
        setattr(self, self._param_name, parameter)
        super().__init__(parameter.size(), validate_args=validate_args)

    support = property(lambda self: constraints.integer_interval(0, self.total_count))
    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def _parameters(self):
        return {"total_count": self.total_count, self._param_name: self._param}

    def sample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        self._check_sample(value)
        count = self.total_count
        positive = (self.logits.clamp(min=0) + self.logits - self.logits.clamp(max=0)) / 2
        norm = count * positive + count * torch.log1p(torch.exp(-torch.abs(self.logits))) - torch.lgamma(count + 1)
        return value * self.logits - torch.lgamma(value + 1) - torch.lgamma(count - value + 1) - norm

    def enumerate_support(self, expand=True):
        return self._up_to_count("enumerate_support", expand)

    def _up_to_count(self, asked, expand):
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{asked}`.")
        values = torch.arange(1 + count, dtype=self._param.dtype, device=self._param.device)
        return self._along_first(values, expand)

    def entropy(self):
        log_prob = self.log_prob(self._up_to_count("entropy", False))
        return -(log_prob.exp() * log_prob).sum(0)


class Poisson(ExponentialFamily):
    """The Poisson distribution."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        shape = torch.Size() if isinstance(rate, (int, float)) else self.rate.size()
        super().__init__(shape, validate_args=validate_args)

    mean = variance = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            return torch.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()


class Categorical(_ByProbability):
    """One of several classes."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _binary = False

    def __init__(self, probs=None, logits=None, validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            if probs.dim() < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            if logits.dim() < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._param_name = "logits" if probs is None else "probs"
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    support = property(lambda self: constraints.integer_interval(0, self._num_events - 1))
    mode = property(lambda self: self.probs.argmax(dim=-1))

    @property
    def mean(self):
        return torch.full(self._extended_shape(), torch.nan, dtype=self.probs.dtype, device=self.probs.device)

    variance = mean

    def sample(self, sample_shape=torch.Size()):
        sample_shape = torch.Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        drawn = torch.multinomial(rows, sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        self._check_sample(value)
        value = value.long().unsqueeze(-1)
        value, logits = torch.broadcast_tensors(value, self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        logits = torch.clamp(self.logits, min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        """All classes."""
        values = torch.arange(self._num_events, dtype=torch.long, device=self._param.device)
        return self._along_first(values, expand)


class OneHotCategorical(Distribution):
    """One of several classes, as a vector with a one."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        super().__init__(
            self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args
        )

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    mean = property(lambda self: self._categorical.probs)
    has_enumerate_support = True

    @property
    def mode(self):
        best = self.probs.argmax(axis=-1)
        return torch.nn.functional.one_hot(best, num_classes=self.probs.shape[-1]).to(self.probs)

    def _parameters(self):
        return self._categorical._parameters()

    def enumerate_support(self, expand=True):
        """Every corner."""
        count = self.event_shape[0]
        values = torch.eye(count, dtype=self._categorical._param.dtype, device=self._categorical._param.device)
        values = values.view((count,) + (1,) * len(self.batch_shape) + (count,))
        return values.expand((count,) + tuple(self.batch_shape) + (count,)) if expand else values

    variance = property(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape=torch.Size()):
        indices = self._categorical.sample(torch.Size(sample_shape))
        return torch.nn.functional.one_hot(indices, self._categorical._num_events).to(self._categorical._param)

    def log_prob(self, value):
        self._check_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()


class Multinomial(Distribution):
    """How often each class comes among several draws."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(
            self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args
        )

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    support = property(lambda self: constraints.multinomial(self.total_count))
    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape=torch.Size()):
        sample_shape = torch.Size(sample_shape)
        draws = self._categorical.sample(torch.Size((self.total_count,) + tuple(sample_shape)))
        draws = draws.permute(*range(1, draws.dim()), 0)
        counts = draws.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, draws, torch.ones_like(draws))
        return counts.type_as(self.probs)

    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, value)
        logits = logits.clone(memory_format=torch.contiguous_format)
        logits[(value == 0) & (logits == -torch.inf)] = 0
        return torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)

    def entropy(self):
        count = torch.tensor(self.total_count, dtype=self.probs.dtype, device=self.probs.device)
        ordered = count * self._categorical.entropy() - torch.lgamma(count + 1)
        support = self._binomial.enumerate_support(expand=False)[1:]
        return ordered + (self._binomial.log_prob(support).exp() * torch.lgamma(support + 1)).sum([0, -1])
