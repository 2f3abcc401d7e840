"""`np.random.RandomState`, and the one that `np.random.seed` and its like draw from."""

import functools
import math
import sys

import torch

from numpy._absent import unavailable
from numpy._array import asarray, make, ndarray
from numpy._capture import _is_compiling, captured, public
from numpy._dtypes import FLOAT64, INT64
from numpy.random import _sampling
from numpy.random._generator import _lacks, _least, _number
from numpy.random._sampling import chosen, scaled, shape_of, shaped
from numpy.random._seeds import MT19937, BitGenerator, _numpy


class RandomState:
    """Samples of distributions, as numpy has drawn them since 2005."""

    def __init__(self, seed=None):
        if isinstance(seed, BitGenerator):
            self._bit_generator = seed
        else:
            self._bit_generator = MT19937(0)
            self._bit_generator._legacy_seeding(seed)

    @property
    def _source(self):
        return self._bit_generator._source

    def __str__(self):
        return f"RandomState({type(self._bit_generator).__name__})"

    def __repr__(self):
        return f"{self} at 0x{id(self):X}"

    # The state

    def seed(self, seed=None):
        self._bit_generator._legacy_seeding(seed)

    def get_state(self, legacy=True):
        words = self._source.words()
        normal = torch.tensor([words[626], words[627]], dtype=torch.int64).to(torch.int32).view(torch.float64).item() if words[625] else 0.0
        key = asarray(list(words[:624]), "uint32")
        if legacy:
            return "MT19937", key, words[624], words[625], normal
        return {"bit_generator": "MT19937", "state": {"key": key, "pos": words[624]}, "has_gauss": words[625], "gauss": normal}

    def set_state(self, state):
        if isinstance(state, dict):
            state = (state["bit_generator"], state["state"]["key"], state["state"]["pos"], state.get("has_gauss", 0), state.get("gauss", 0.0))
        name, key, position, *rest = state
        if name != "MT19937":
            raise ValueError("set_state can only be used with legacy MT19937 state instances.")
        has_normal, normal = rest or (0, 0.0)
        low, high = (v & 0xFFFFFFFF for v in torch.tensor([float(normal)], dtype=torch.float64).view(torch.int32).tolist())
        self._bit_generator._source = _numpy.BitGenerator("MT19937", [*asarray(key).tolist(), int(position), int(bool(has_normal)), low, high])

    # Standard distributions

    def random_sample(self, size=None):
        shape, count = shape_of(size)
        return _number(shaped(self._source.doubles(count), shape))

    def rand(self, *args):
        return self.random_sample(args or None)

    def standard_normal(self, size=None):
        shape, count = shape_of(size)
        return _number(shaped(self._source.legacy_normals(count), shape))

    def randn(self, *args):
        return self.standard_normal(args or None)

    # Others

    def normal(self, loc=0.0, scale=1.0, size=None):
        _sampling.check(_least(scale) < 0, "scale")
        return _number(scaled(self._source.legacy_normals, size, (loc, scale), lambda t, loc, scale: loc + scale * t))

    def lognormal(self, mean=0.0, sigma=1.0, size=None):
        _sampling.check(_least(sigma) < 0, "sigma")
        return _number(scaled(self._source.legacy_normals, size, (mean, sigma), lambda t, mean, sigma: torch.exp(mean + sigma * t)))

    def uniform(self, low=0.0, high=1.0, size=None):
        if _sampling.is_number(low, high) and not math.isfinite(float(high) - float(low)):
            raise OverflowError("Range exceeds valid bounds")
        return _number(scaled(self._source.doubles, size, (low, high), lambda t, low, high: low + (high - low) * t))

    def exponential(self, scale=1.0, size=None):
        _sampling.check(_least(scale) < 0, "scale")
        return _number(scaled(self._source.doubles, size, (scale,), lambda t, scale: scale * -torch.log(1.0 - t)))

    def standard_exponential(self, size=None):
        return self.exponential(1.0, size)

    def randint(self, low, high=None, size=None, dtype=int):
        return _sampling.integers(self._source, low, high, size, dtype, False, True)

    def random_integers(self, low, high=None, size=None):
        low, high = (1, low) if high is None else (low, high)
        return self.randint(low, int(high) + 1, size)

    def bytes(self, length):
        words = [self._source.next32() for _ in range((length + 3) // 4)]
        return b"".join(word.to_bytes(4, "little") for word in words)[:length]

    # Orders and choices

    def _shuffled(self, count):
        return self._source.shuffled(count, 1, True)

    def choice(self, a, size=None, replace=True, p=None):
        if isinstance(a, (ndarray, list, tuple)) and asarray(a).ndim != 1:
            raise ValueError("a must be 1-dimensional")
        within = lambda n, count: self._source.bounded(count, 0, n - 1, 64, True)
        return chosen(a, size, replace, p, within, self._source.doubles, lambda n, count: self._shuffled(n)[:count].clone(), 0, True)

    def permutation(self, x):
        if hasattr(x, "__index__") and not isinstance(x, ndarray):
            return ndarray(self._shuffled(int(x)), INT64)
        a = asarray(x)
        if a.ndim == 0:
            raise IndexError("x must be an integer or at least 1-dimensional")
        return a[ndarray(self._shuffled(a.shape[0]), INT64)]

    def shuffle(self, x):
        _sampling.shuffle(x, self._shuffled(len(x)))

    def multivariate_normal(self, mean, cov, size=None, check_valid="warn", tol=1e-8):
        raise unavailable("multivariate_normal, whose samples depend on a library's decomposition", "mean + np.random.randn(...) @ L.T")

    def __getattr__(self, name):
        raise _lacks("RandomState", name)


_names = (
    "seed get_state set_state random_sample rand standard_normal randn normal lognormal uniform exponential standard_exponential randint "
    "random_integers bytes choice permutation shuffle"
)



def _drawn(method):
    """A method that scripts call, of the one state through `np.random`, too."""
    drawn = public(method, "numpy.random.RandomState")

    def call(self, *args, **kwargs):
        if _is_compiling() and self in _state:
            config = sys.modules.get("torch._dynamo.config")
            home = "numpy.random" if config is None or not config.use_numpy_random_stream else ""
            return captured(home, method.__name__, functools.partial(method, self), args, kwargs)
        return drawn(self, *args, **kwargs)

    return functools.wraps(method)(call)


for _name in _names.split():
    setattr(RandomState, _name, _drawn(RandomState.__dict__[_name]))
RandomState.random = RandomState.random_sample
_state = []


def names():
    """The functions of `np.random` that are methods of the one state."""
    return (*_names.split(), "random", "ranf", "sample", "multivariate_normal")


def global_state():
    """The state that `np.random.seed` seeds."""
    if not _state:
        _state.append(RandomState())
    return _state[0]


RandomState.ranf = RandomState.sample = RandomState.random_sample
_ = FLOAT64, make
