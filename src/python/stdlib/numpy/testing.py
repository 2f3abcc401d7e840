"""`np.testing`: assertions about arrays."""

from numpy import _functions, _reductions, _ufuncs
from numpy._absent import attribute_error
from numpy._array import asarray
from numpy._capture import public


def _fail(title, actual, desired, same):
    a, b = asarray(actual), asarray(desired)
    lines = ["", title, ""]
    if a.shape == b.shape or not a.ndim or not b.ndim:
        wrong = asarray(_ufuncs.logical_not(same))
        count = int(wrong.sum())
        lines.append(f"Mismatched elements: {count} / {wrong.size} ({100 * count / max(wrong.size, 1):.3g}%)")
    else:
        lines.append(f"(shapes {a.shape}, {b.shape} mismatch)")
    lines += [f" ACTUAL: {a!r}", f" DESIRED: {b!r}"]
    raise AssertionError("\n".join(lines))


@public
def assert_allclose(actual, desired, rtol=1e-07, atol=0, equal_nan=True, err_msg="", verbose=True, *, strict=False):
    """Raises unless all elements are close."""
    a, b = asarray(actual), asarray(desired)
    fits = a.shape == b.shape or not a.ndim or not b.ndim
    same = _functions.isclose(a, b, rtol, atol, equal_nan) if fits else False
    if not fits or not bool(_reductions.all(same)):
        _fail(f"Not equal to tolerance rtol={rtol:g}, atol={atol:g}\n{err_msg}", a, b, same)


@public
def assert_array_equal(actual, desired, err_msg="", verbose=True, *, strict=False):
    """Raises unless all elements are equal."""
    a, b = asarray(actual), asarray(desired)
    fits = a.shape == b.shape or not strict and (not a.ndim or not b.ndim)
    same = _ufuncs.equal(a, b) if fits else False
    if fits and a.dtype.kind in "fc" and b.dtype.kind in "fc":
        same = _ufuncs.logical_or(same, _ufuncs.logical_and(_ufuncs.isnan(a), _ufuncs.isnan(b)))
    if not fits or not bool(_reductions.all(same)):
        _fail(f"Arrays are not equal\n{err_msg}", a, b, same)


assert_equal = assert_array_equal


@public
def assert_array_almost_equal(actual, desired, decimal=6, err_msg="", verbose=True):
    """Raises unless all elements are equal to so many digits."""
    a, b = asarray(actual), asarray(desired)
    fits = a.shape == b.shape or not a.ndim or not b.ndim
    same = _ufuncs.less(_ufuncs.absolute(_ufuncs.subtract(a, b)), 1.5 * 10.0**-decimal) if fits else False
    if not fits or not bool(_reductions.all(same)):
        _fail(f"Arrays are not almost equal to {decimal} decimals\n{err_msg}", a, b, same)


assert_almost_equal = assert_array_almost_equal


def __getattr__(name):
    raise attribute_error("numpy.testing", name)
