"""`np.random.Generator` and `default_rng`."""

import math

import torch

from numpy import _functions
from numpy._absent import unavailable
from numpy._array import AxisError, asarray, ndarray
from numpy._capture import public
from numpy._dtypes import FLOAT32, FLOAT64, INT64, resolve
from numpy.random import _sampling
from numpy.random._sampling import chosen, scaled, shape_of, shaped
from numpy.random._seeds import PCG64, BitGenerator, SeedSequence


def _tables(name):
    from numpy.random import _ziggurat

    return getattr(_ziggurat, name)


class Generator:
    """Samples of distributions, from a bit generator."""

    def __init__(self, bit_generator):
        self._bit_generator = bit_generator

    @property
    def bit_generator(self):
        return self._bit_generator

    @property
    def _source(self):
        return self._bit_generator._source

    def __repr__(self):
        return f"{self} at 0x{id(self):X}"

    def __str__(self):
        return f"Generator({type(self._bit_generator).__name__})"

    def __deepcopy__(self, memo):
        made = type(self._bit_generator)(0)
        made.state = self._bit_generator.state
        return Generator(made)

    def spawn(self, n_children):
        return [Generator(b) for b in self._bit_generator.spawn(n_children)]

    def _put(self, made, out):
        if out is None:
            return made
        out[...] = made
        return out

    def _count(self, size, out):
        return size if out is None or size is not None else out.shape

    # Standard distributions

    def random(self, size=None, dtype=FLOAT64, out=None):
        dtype, (shape, count) = resolve(dtype), shape_of(self._count(size, out))
        if dtype not in (FLOAT32, FLOAT64):
            raise TypeError(f"Unsupported dtype {dtype!r} for random")
        t = self._source.doubles(count) if dtype is FLOAT64 else self._source.singles(count)
        made = shaped(t, shape, dtype)
        return self._put(float(made) if shape is None and dtype is FLOAT64 else made, out)

    def standard_normal(self, size=None, dtype=FLOAT64, out=None):
        dtype, (shape, count) = resolve(dtype), shape_of(self._count(size, out))
        if dtype not in (FLOAT32, FLOAT64):
            raise TypeError(f"Unsupported dtype {dtype!r} for standard_normal")
        t = self._normals(count) if dtype is FLOAT64 else self._source.single_normals(count, _tables("NORMAL"))
        made = shaped(t, shape, dtype)
        return self._put(float(made) if shape is None and dtype is FLOAT64 else made, out)

    def _normals(self, count):
        return self._source.normals(count, _tables("NORMAL"))

    def standard_exponential(self, size=None, dtype=FLOAT64, method="zig", out=None):
        if method != "zig" or resolve(dtype) is not FLOAT64:
            raise unavailable("exponential samples by inversion or in float32", "exponential")
        shape, count = shape_of(self._count(size, out))
        return self._put(_number(shaped(self._exponentials(count), shape)), out)

    def _exponentials(self, count):
        return self._source.exponentials(count, _tables("EXPONENTIAL"))

    # Others

    def normal(self, loc=0.0, scale=1.0, size=None):
        _sampling.check(_least(scale) < 0, "scale")
        return _number(scaled(self._normals, size, (loc, scale), lambda t, loc, scale: loc + scale * t))

    def lognormal(self, mean=0.0, sigma=1.0, size=None):
        _sampling.check(_least(sigma) < 0, "sigma")
        return _number(scaled(self._normals, size, (mean, sigma), lambda t, mean, sigma: torch.exp(mean + sigma * t)))

    def uniform(self, low=0.0, high=1.0, size=None):
        if _sampling.is_number(low, high):
            span = float(high) - float(low)
            if not math.isfinite(span):
                raise OverflowError("high - low range exceeds valid bounds")
            _sampling.check(span < 0, "high - low")
            return _number(scaled(self._source.doubles, size, (low,), lambda t, low: low + span * t))
        return scaled(self._source.doubles, size, (low, high), lambda t, low, high: low + (high - low) * t)

    def exponential(self, scale=1.0, size=None):
        _sampling.check(_least(scale) < 0, "scale")
        return _number(scaled(self._exponentials, size, (scale,), lambda t, scale: scale * t))

    def integers(self, low, high=None, size=None, dtype=INT64, endpoint=False):
        return _sampling.integers(self._source, low, high, size, dtype, endpoint, False)

    def bytes(self, length):
        words = [self._source.next32() for _ in range((length + 3) // 4)]
        return b"".join(word.to_bytes(4, "little") for word in words)[:length]

    # Orders and choices

    def _shuffled(self, count):
        # By masks, as `RandomState` does; choices are drawn by Lemire's method.
        return self._source.shuffled(count, 1, True)

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True):
        def without(n, count):
            if n > 10000 and count > n // (50 if shuffle else 20):
                return self._source.shuffled(n, max(n - count, 1), False)[n - count :].clone()
            found = self._source.sampled(n, count)
            return found[self._source.shuffled(count, 1, False)] if shuffle else found

        def within(n, count):
            return self._source.bounded(count, 0, n - 1, 64, False)

        return chosen(a, size, replace, p, within, self._source.doubles, without, axis)

    def permutation(self, x, axis=0):
        if hasattr(x, "__index__") and not isinstance(x, ndarray):
            return ndarray(self._shuffled(int(x)), INT64)
        a = asarray(x)
        if a.ndim == 0:
            raise AxisError(axis, 0)
        return a[(slice(None),) * (axis % a.ndim) + (ndarray(self._shuffled(a.shape[axis]), INT64),)]

    def shuffle(self, x, axis=0):
        if isinstance(x, ndarray) and axis:
            x = _functions.moveaxis(x, axis, 0)
        _sampling.shuffle(x, self._shuffled(len(x)))

    def permuted(self, x, *, axis=None, out=None):
        a = asarray(x)
        if axis is None:
            made = ndarray(a._t.reshape(-1)[self._shuffled(a.size)].reshape(a.shape), a._dtype)
        else:
            rows = _functions.moveaxis(a, axis, -1)
            t = rows._t.reshape(-1, rows.shape[-1])
            t = torch.stack([row[self._shuffled(row.shape[0])] for row in t]).reshape(rows.shape)
            made = _functions.moveaxis(ndarray(t, a._dtype), -1, axis)
        return self._put(made, out)

    def multivariate_normal(self, mean, cov, size=None, check_valid="warn", tol=1e-8, *, method="svd"):
        raise unavailable("multivariate_normal, whose samples depend on a library's decomposition", "mean + rng.standard_normal(...) @ L.T")

    def __getattr__(self, name):
        raise _lacks("Generator", name)


def _lacks(kind, name):
    if name.startswith("__"):
        return AttributeError(name)
    return AttributeError(f"'numpy.random.{kind}' object has no attribute '{name}' (the playground's numpy does not have it)")


def _least(scale):
    return scale if isinstance(scale, (int, float)) else float(asarray(scale).min())


def _number(made):
    """One sample is a float of Python's."""
    return made if isinstance(made, ndarray) else float(made)


def _random_state():
    from numpy.random._legacy import RandomState

    return RandomState


def default_rng(seed=None):
    """A `Generator` over PCG64."""
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, BitGenerator):
        return Generator(seed)
    if isinstance(seed, _random_state()):
        return Generator(seed._bit_generator)
    return Generator(PCG64(seed if isinstance(seed, SeedSequence) or seed is None else SeedSequence(seed)))


default_rng = public(default_rng)
for _name in (
    "random standard_normal standard_exponential normal lognormal uniform exponential integers bytes choice permutation shuffle permuted"
).split():
    setattr(Generator, _name, public(Generator.__dict__[_name]))
