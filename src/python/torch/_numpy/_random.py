"""`numpy.random` in a captured graph: PyTorch's generator draws, unless `torch._dynamo.config.use_numpy_random_stream` says otherwise, and
then the call is not captured. A number alone, which would have to be read from a tensor, is not either: without a size a function gives
NotImplemented."""

import torch
from torch._numpy._operands import default_float, sizes_of

TABLE = {}


def _define(function):
    TABLE[function.__name__] = function
    return function


@_define
def seed(seed=None):
    if seed is not None:
        torch.manual_seed(seed)


def _drawn(size, draw):
    return NotImplemented if size is None else draw(torch.empty(sizes_of(size), dtype=default_float()))


@_define
def random_sample(size=None):
    return _drawn(size, lambda t: t.uniform_())


TABLE["random"] = TABLE["sample"] = random_sample


@_define
def rand(*size):
    return random_sample(size or None)


@_define
def uniform(low=0.0, high=1.0, size=None):
    return _drawn(size, lambda t: t.uniform_(low, high))


@_define
def randn(*size):
    return torch.randn(size, dtype=default_float()) if size else NotImplemented


@_define
def normal(loc=0.0, scale=1.0, size=None):
    return _drawn(size, lambda t: t.normal_(loc, scale))


@_define
def randint(low, high=None, size=None):
    low, high = (0, low) if high is None else (low, high)
    return NotImplemented if size is None else torch.randint(low, high, sizes_of(size))
