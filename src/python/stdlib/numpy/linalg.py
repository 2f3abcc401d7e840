"""`np.linalg`: norms, solutions and decompositions, by PyTorch's."""

import torch

from numpy import _dtypes, _reductions, _ufuncs
from numpy._absent import attribute_error, unavailable
from numpy._array import asarray, box, cast, ndarray
from numpy._capture import public
from numpy._dtypes import FLOAT64
from numpy._linear import matmul, outer, tensordot  # noqa: F401


def _public(function):
    return public(function, "numpy.linalg")


class LinAlgError(ValueError):
    """A matrix for which there is no answer."""


def _matrix(a):
    a = asarray(a)
    dtype = a._dtype if a._dtype.kind in "fc" and a._dtype.name != "float16" else FLOAT64
    return cast(a._t, a._dtype, dtype), dtype


def _square(t):
    if t.dim() < 2:
        raise LinAlgError(f"{t.dim()}-dimensional array given. Array must be at least two-dimensional")
    if t.shape[-1] != t.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")


def _tried(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except RuntimeError as error:
        raise LinAlgError("Matrix is not positive definite" if function is torch.linalg.cholesky else "Singular matrix") from error


@_public
def norm(x, ord=None, axis=None, keepdims=False):
    """The norm of vectors or matrices."""
    x = asarray(x)
    x = x if x._dtype.kind in "fc" else x.astype(FLOAT64)
    if axis is None and (ord is None or ord in ("f", "fro") and x.ndim == 2 or ord == 2 and x.ndim == 1):
        flat = x.reshape(-1)
        found = _ufuncs.sqrt(matmul(flat, flat) if x._dtype.kind == "f" else _reductions.sum(_ufuncs.square(_ufuncs.absolute(flat))))
        return asarray(found).reshape((1,) * x.ndim) if keepdims else found
    axes = _reductions.axes_of(axis, x.ndim)
    if len(axes) == 1:
        size = _ufuncs.absolute(x)
        if ord in (None, 2):
            return _ufuncs.sqrt(_reductions.sum(_ufuncs.multiply(size, size), axis=axis, keepdims=keepdims))
        if ord == float("inf"):
            return _reductions.max(size, axis=axis, keepdims=keepdims)
        if ord == float("-inf"):
            return _reductions.min(size, axis=axis, keepdims=keepdims)
        if ord == 0:
            return _reductions.sum(_ufuncs.not_equal(x, 0).astype(size.dtype), axis=axis, keepdims=keepdims)
        if ord == 1:
            return _reductions.sum(size, axis=axis, keepdims=keepdims)
        return _ufuncs.power(_reductions.sum(_ufuncs.power(size, ord), axis=axis, keepdims=keepdims), 1 / ord)
    t, dtype = _matrix(x)
    found = torch.linalg.norm(t, ord, axes if ord is not None else tuple(axes), keepdims)
    return box(found, _dtypes.OF_TORCH[found.dtype])


@_public
def inv(a):
    """The inverse."""
    t, dtype = _matrix(a)
    _square(t)
    return box(_tried(torch.linalg.inv, t), dtype)


@_public
def det(a):
    """The determinant."""
    t, dtype = _matrix(a)
    _square(t)
    return box(torch.linalg.det(t), dtype)


@_public
def slogdet(a):
    """The sign and logarithm of the determinant."""
    t, dtype = _matrix(a)
    sign, size = torch.linalg.slogdet(t)
    return box(sign, dtype), box(size, dtype)


@_public
def solve(a, b):
    """The solution of linear equations."""
    t, dtype = _matrix(a)
    _square(t)
    right = asarray(b)
    return box(_tried(torch.linalg.solve, t, cast(right._t, right._dtype, dtype)), dtype)


@_public
def lstsq(a, b, rcond=None):
    """The solution of least squares, residuals, rank and singular values."""
    t, dtype = _matrix(a)
    right = asarray(b)
    y = cast(right._t, right._dtype, dtype)
    columns = y if y.dim() > 1 else y[:, None]
    u, s, vh = torch.linalg.svd(t, full_matrices=False)
    cut = (torch.finfo(t.dtype).eps * max(t.shape) if rcond is None else rcond) * (s.max() if s.numel() else 0)
    rank = int((s > cut).sum())
    x = vh[:rank].mH @ ((u[:, :rank].mH @ columns) / s[:rank, None])
    rest = ((columns - t @ x) ** 2).sum(0) if rank == t.shape[1] < t.shape[0] else torch.zeros(0, dtype=t.dtype)
    return ndarray(x if y.dim() > 1 else x[:, 0], dtype), ndarray(rest, dtype), rank, ndarray(s, dtype)


@_public
def cholesky(a, /, *, upper=False):
    """The triangular factor of a positive definite matrix."""
    t, dtype = _matrix(a)
    return box(_tried(torch.linalg.cholesky, t, upper=upper), dtype)


@_public
def qr(a, mode="reduced"):
    """An orthogonal and a triangular factor."""
    t, dtype = _matrix(a)
    q, r = torch.linalg.qr(t, mode)
    return box(r, dtype) if mode == "r" else (box(q, dtype), box(r, dtype))


@_public
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    """Singular values with their vectors."""
    t, dtype = _matrix(a)
    if not compute_uv:
        s = torch.linalg.svdvals(t)
        return box(s, _dtypes.OF_TORCH[s.dtype])
    u, s, vh = torch.linalg.svd(t, full_matrices)
    return box(u, dtype), box(s, _dtypes.OF_TORCH[s.dtype]), box(vh, dtype)


@_public
def eigh(a, UPLO="L"):
    """Eigenvalues of a symmetric matrix with their vectors."""
    t, dtype = _matrix(a)
    values, vectors = torch.linalg.eigh(t, UPLO)
    return box(values, _dtypes.OF_TORCH[values.dtype]), box(vectors, dtype)


@_public
def eigvalsh(a, UPLO="L"):
    """Eigenvalues of a symmetric matrix."""
    values = torch.linalg.eigvalsh(_matrix(a)[0], UPLO)
    return box(values, _dtypes.OF_TORCH[values.dtype])


def _real_if_so(t):
    return t.real.clone() if bool((t.imag == 0).all()) else t


@_public
def eig(a):
    """Eigenvalues with their vectors."""
    t, dtype = _matrix(a)
    values, vectors = torch.linalg.eig(t)
    if dtype.kind == "f" and bool((values.imag == 0).all()):
        values, vectors = values.real.clone(), vectors.real.clone()
    return box(values, _dtypes.OF_TORCH[values.dtype]), box(vectors, _dtypes.OF_TORCH[vectors.dtype])


@_public
def eigvals(a):
    """Eigenvalues."""
    t, dtype = _matrix(a)
    values = torch.linalg.eigvals(t)
    values = _real_if_so(values) if dtype.kind == "f" else values
    return box(values, _dtypes.OF_TORCH[values.dtype])


@_public
def pinv(a, rcond=None, hermitian=False, *, rtol=None):
    """The pseudoinverse."""
    t, dtype = _matrix(a)
    return box(torch.linalg.pinv(t, rtol=1e-15 if rcond is None and rtol is None else rtol or rcond), dtype)


@_public
def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    """The rank."""
    t, _ = _matrix(A)
    if t.dim() < 2:
        return int(bool((t != 0).any()))
    return box(torch.linalg.matrix_rank(t) if tol is None else torch.linalg.matrix_rank(t, atol=tol, rtol=0.0), _dtypes.INT64)


@_public
def matrix_power(a, n):
    """A power of a matrix."""
    a = asarray(a)
    return box(torch.linalg.matrix_power(a._t, n), a._dtype)


@_public
def cond(x, p=None):
    """The condition number."""
    t, _ = _matrix(x)
    found = torch.linalg.cond(t, p)
    return box(found, _dtypes.OF_TORCH[found.dtype])


@_public
def multi_dot(arrays, *, out=None):
    """The product of several matrices."""
    found = arrays[0]
    for a in arrays[1:]:
        found = matmul(found, a)
    return found


def __getattr__(name):
    raise attribute_error("numpy.linalg", name)


_ = unavailable
