"""`Distribution`, the base."""

import sys

import torch


def broadcast_all(*values):
    """Numbers and tensors as tensors of one shape."""
    tensors = [one for one in values if isinstance(one, torch.Tensor)]
    if tensors:
        options = {"dtype": tensors[0].dtype, "device": tensors[0].device}
    else:
        options = {"dtype": torch.get_default_dtype()}
    values = [one if isinstance(one, torch.Tensor) else torch.tensor(one, **options) for one in values]
    return torch.broadcast_tensors(*values)


def _sum_rightmost(value, count):
    return value if count == 0 else value.reshape(value.shape[: value.dim() - count] + (-1,)).sum(-1)


class _Late:
    """An attribute computed when it is first read."""

    def __init__(self, function):
        self.function = function
        self.name = function.__name__
        self.__doc__ = function.__doc__

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with torch.enable_grad():
            value = self.function(instance)
        setattr(instance, self.name, value)
        return value


def _open_interval(dtype, low=0, high=1):
    """Bounds for `clamp` that leave out an interval's ends, by the least step."""
    eps = torch.finfo(dtype).eps
    return {"min": low + eps, "max": high - eps}


def clamp_probs(probs):
    """Probabilities away from zero and one by the least step."""
    return probs.clamp(**_open_interval(probs.dtype))


def probs_to_logits(probs, is_binary=False):
    """Log odds, or log probabilities."""
    clamped = clamp_probs(probs)
    return torch.log(clamped) - torch.log1p(-clamped) if is_binary else torch.log(clamped)


def logits_to_probs(logits, is_binary=False):
    """Probabilities of log odds, or of log probabilities."""
    return torch.sigmoid(logits) if is_binary else torch.nn.functional.softmax(logits, dim=-1)


class Distribution:
    """Samples of shape `sample_shape + batch_shape + event_shape`, and their probabilities."""

    has_rsample = False
    has_enumerate_support = False
    _validate_args = getattr(sys.modules.get("torch._dynamo.eval_frame"), "checks_distributions", True)
    arg_constraints = {}

    @staticmethod
    def set_default_validate_args(value):
        """Whether arguments are checked."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=torch.Size(), event_shape=torch.Size(), validate_args=None):
        self._batch_shape = torch.Size(batch_shape)
        self._event_shape = torch.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self.arg_constraints.items():
                if name not in self.__dict__ and isinstance(getattr(type(self), name, None), _Late):
                    continue
                value = getattr(self, name)
                if not constraint.check(value).all():
                    raise ValueError(
                        f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                        f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                    )

    @property
    def batch_shape(self):
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one sample."""
        return self._event_shape

    @property
    def support(self):
        """Where samples are."""
        raise NotImplementedError

    @property
    def mean(self):
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self):
        """The likeliest value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape=torch.Size()):
        """Draws, without a gradient."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=torch.Size()):
        """Draws, with a gradient to the parameters."""
        raise NotImplementedError

    def sample_n(self, n):
        """Draws n."""
        return self.sample(torch.Size((n,)))

    def log_prob(self, value):
        """The logarithm of the density."""
        raise NotImplementedError

    def cdf(self, value):
        """The distribution function."""
        raise NotImplementedError

    def icdf(self, value):
        """The quantile function."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """Every value there is."""
        raise NotImplementedError

    def entropy(self):
        """The entropy."""
        raise NotImplementedError

    def perplexity(self):
        """The exponential of the entropy."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape=torch.Size()):
        return torch.Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def _parameters(self):
        return {name: getattr(self, name) for name in self.arg_constraints if name in self.__dict__}

    def expand(self, batch_shape, _instance=None):
        """The distribution with parameters expanded."""
        batch_shape = torch.Size(batch_shape)
        parameters = {
            name: value.expand(tuple(batch_shape) + tuple(value.shape[value.dim() - constraint.event_dim :]))
            for name, value in self._parameters().items()
            for constraint in (self.arg_constraints[name],)
        }
        return type(self)(**parameters, validate_args=False)

    def _check_sample(self, value):
        """Raises where a value is no sample, if arguments are checked."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value):
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = value.dim() - len(self._event_shape)
        if value.shape[start:] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}."
            )
        expected = tuple(self._batch_shape) + tuple(self._event_shape)
        for given, own in zip(reversed(value.size()), reversed(expected)):
            if given != 1 and own != 1 and given != own:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {torch.Size(expected)}."
                )
        if not self.support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({self.support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self):
        text = ", ".join(
            f"{name}: {value if value.numel() == 1 else value.size()}"
            for name, value in ((name, self.__dict__.get(name)) for name in self.arg_constraints)
            if value is not None
        )
        return f"{self.__class__.__name__}({text})"


class ExponentialFamily(Distribution):
    """A distribution of an exponential family."""
