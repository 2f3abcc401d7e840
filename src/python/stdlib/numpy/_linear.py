"""Products of matrices."""

import torch

from numpy import _dtypes, _ufuncs
from numpy._array import _text, asarray, box, cast
from numpy._capture import of_tensors, public
from numpy._dtypes import BOOL, promote


def _pair(a, b):
    a, b = asarray(a), asarray(b)
    dtype = promote(a._dtype, b._dtype)
    return cast(a._t, a._dtype, dtype), cast(b._t, b._dtype, dtype), dtype


def _product(x, y, dtype, function):
    """Of truth values it is one, too."""
    if dtype is BOOL:
        return box(function(x.to(torch.int64), y.to(torch.int64)) != 0, BOOL)
    return box(function(x, y), dtype)


@public
@of_tensors
def matmul(x1, x2, /, out=None, **kwargs):
    """The matrix product."""
    x, y, dtype = _pair(x1, x2)
    if not x.dim() or not y.dim():
        raise ValueError(f"matmul: Input operand {int(bool(x.dim()))} does not have enough dimensions (has 0, gufunc core with signature (n?,k),(k,m?)->(n?,m?) requires 1)")
    k, n = x.shape[-1], y.shape[-2] if y.dim() > 1 else y.shape[0]
    if k != n:
        raise ValueError(
            "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n?,k),(k,m?)->(n?,m?) "
            f"(size {n} is different from {k})"
        )
    found = _product(x, y, dtype, torch.matmul)
    if out is not None:
        out[...] = found
        return out
    return found


@public
def dot(a, b, out=None):
    """The product: of vectors the inner one, of matrices the matrix product, with a number each element's."""
    x, y, dtype = _pair(a, b)
    if not x.dim() or not y.dim():
        found = _ufuncs.multiply(a, b)
    else:
        k, axis = x.shape[-1], max(y.dim() - 2, 0)
        if k != y.shape[axis]:
            raise ValueError(
                f"shapes {_text(x.shape)} and {_text(y.shape)} not aligned: {k} (dim {x.dim() - 1}) != {y.shape[axis]} (dim {axis})"
            )
        if x.dim() <= 2 and y.dim() <= 2:
            found = _product(x, y, dtype, torch.matmul)
        else:
            found = _product(x, y, dtype, lambda x, y: torch.tensordot(x, y, dims=([x.dim() - 1], [axis])))
    if out is not None:
        out[...] = found
        return out
    return found


@public
def vdot(a, b, /):
    """The inner product in flat order."""
    return dot(_ufuncs.conjugate(asarray(a)).reshape(-1) if asarray(a).dtype.kind == "c" else asarray(a).reshape(-1), asarray(b).reshape(-1))


@public
def inner(a, b, /):
    """Inner products of the last axes."""
    x, y, dtype = _pair(a, b)
    if not x.dim() or not y.dim():
        return _ufuncs.multiply(a, b)
    return _product(x, y, dtype, lambda x, y: torch.tensordot(x, y, dims=([x.dim() - 1], [y.dim() - 1])))


@public
def outer(a, b, out=None):
    """Each element of one vector times each of another."""
    return _ufuncs.multiply(asarray(a).reshape(-1, 1), asarray(b).reshape(1, -1), out=out)


@public
def tensordot(a, b, axes=2):
    """Sums of products along axes."""
    x, y, dtype = _pair(a, b)
    if not isinstance(axes, int):
        axes = tuple([p] if isinstance(p, int) else list(p) for p in axes)
    return _product(x, y, dtype, lambda x, y: torch.tensordot(x, y, dims=axes))


@public
def einsum(subscripts, *operands, out=None, optimize=False, **kwargs):
    """Sums of products that a text names."""
    arrays = [asarray(o) for o in operands]
    dtype = arrays[0]._dtype
    for a in arrays:
        dtype = promote(dtype, a._dtype)
    return box(torch.einsum(subscripts, *(cast(a._t, a._dtype, dtype) for a in arrays)), dtype)


@public
def kron(a, b):
    """The Kronecker product."""
    x, y, dtype = _pair(a, b)
    return box(torch.kron(x, y), dtype)


@public
def cross(a, b, axis=-1, **kwargs):
    """The vector that is orthogonal to two others."""
    x, y, dtype = _pair(a, b)
    x, y = torch.broadcast_tensors(x, y)
    return box(torch.linalg.cross(x, y, dim=axis), dtype)
