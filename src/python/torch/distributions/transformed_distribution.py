"""Random variables after a function, and mixtures of them."""

import torch
from torch.distributions import constraints
from torch.distributions.distribution import Distribution, _sum_rightmost
from torch.distributions.independent import Independent
from torch.distributions.transforms import ComposeTransform, Transform


class TransformedDistribution(Distribution):
    """What samples of a distribution are after one transform or several."""

    def __init__(self, base_distribution, transforms, validate_args=None):
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list) or not all(isinstance(one, Transform) for one in transforms):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        self.transforms = transforms
        shape = tuple(base_distribution.batch_shape) + tuple(base_distribution.event_shape)
        base_events = len(base_distribution.event_shape)
        whole = ComposeTransform(self.transforms)
        if len(shape) < whole.domain.event_dim:
            raise ValueError(f"base_distribution needs to have shape with size at least {whole.domain.event_dim}, but got {shape}.")
        out_shape = whole.forward_shape(shape)
        self.base_dist = base_distribution
        expanded = tuple(whole.inverse_shape(out_shape))
        if expanded != shape:
            self.base_dist = base_distribution.expand(torch.Size(expanded[: len(expanded) - base_events]))
        more = whole.domain.event_dim - base_events
        if more > 0:
            self.base_dist = Independent(self.base_dist, more)
        event_dim = whole.codomain.event_dim + max(base_events - whole.domain.event_dim, 0)
        cut = len(out_shape) - event_dim
        super().__init__(torch.Size(out_shape[:cut]), torch.Size(out_shape[cut:]), validate_args=validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    support = property(lambda self: self.transforms[-1].codomain if self.transforms else self.base_dist.support)

    def _forward(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=torch.Size()):
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        self._check_sample(value)
        events = len(self.event_shape)
        log_prob, y = 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            events += transform.domain.event_dim - transform.codomain.event_dim
            log_prob = log_prob - _sum_rightmost(transform.log_abs_det_jacobian(x, y), events - transform.domain.event_dim)
            y = x
        return log_prob + _sum_rightmost(self.base_dist.log_prob(y), events - len(self.base_dist.event_shape))

    def _orient(self, value):
        """The other tail, where the transforms decrease."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._orient(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._forward(self.base_dist.icdf(self._orient(value)))


class MixtureSameFamilyConstraint(constraints.Constraint):
    """Values that are in the set of every component."""

    def __init__(self, base_constraint):
        self.base_constraint = base_constraint

    is_discrete = property(lambda self: self.base_constraint.is_discrete)
    event_dim = property(lambda self: self.base_constraint.event_dim)

    def check(self, value):
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return result.reshape(result.shape[: value.dim() - self.event_dim] + (-1,)).all(-1)

    def __repr__(self):
        return f"{self.__class__.__name__}({self.base_constraint!r})"


class MixtureSameFamily(Distribution):
    """One of several distributions of a kind, chosen by a categorical one."""

    has_rsample = False

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        count = mixture_distribution.logits.shape[-1]
        components = component_distribution.batch_shape[-1]
        if count is not None and components is not None and count != components:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` ({components})"
            )
        self._num_component = components
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(component_distribution.batch_shape[:-1], component_distribution.event_shape, validate_args=validate_args)

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)
    support = property(lambda self: MixtureSameFamilyConstraint(self._component_distribution.support))

    def _padded_probs(self):
        probs = self._mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * self._event_ndims)

    @property
    def mean(self):
        return torch.sum(self._padded_probs() * self._component_distribution.mean, dim=-1 - self._event_ndims)

    @property
    def variance(self):
        at, probs = -1 - self._event_ndims, self._padded_probs()
        within = torch.sum(probs * self._component_distribution.variance, dim=at)
        apart = (self._component_distribution.mean - self.mean.unsqueeze(at)).pow(2.0)
        return within + torch.sum(probs * apart, dim=at)

    def cdf(self, value):
        at = -1 - self._event_ndims
        return torch.sum(self._component_distribution.cdf(value.unsqueeze(at)) * self._mixture_distribution.probs, dim=-1)

    def log_prob(self, value):
        self._check_sample(value)
        each = self._component_distribution.log_prob(value.unsqueeze(-1 - self._event_ndims))
        return torch.logsumexp(each + torch.log_softmax(self._mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            drawn, batch = len(sample_shape), len(self.batch_shape)
            at = drawn + batch
            which = self._mixture_distribution.sample(sample_shape)
            each = self._component_distribution.sample(sample_shape)
            which = which.reshape(which.shape + (1,) * (self._event_ndims + 1))
            which = which.repeat((1,) * (drawn + batch + 1) + tuple(self.event_shape))
            return torch.gather(each, at, which).squeeze(at)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
