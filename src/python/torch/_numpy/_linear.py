"""`numpy.linalg` as functions of tensors."""

import torch
from torch._numpy._operands import at_least_float, cast, result_type, tensor
from torch._numpy._reductions import _kept

TABLE = {}


def _of_one(name):
    def call(a, *args, **kwargs):
        return getattr(torch.linalg, name)(at_least_float(tensor(a)), *args, **kwargs)

    call.__name__ = name
    TABLE[name] = call


for _name in "matrix_power inv det slogdet cholesky eigh eigvalsh".split():
    _of_one(_name)


def solve(a, b):
    """The solution of linear equations."""
    a, b = tensor(a), tensor(b)
    dtype = result_type(a, b)
    a, b = at_least_float(cast(a, dtype)), at_least_float(cast(b, dtype))
    return torch.linalg.solve(a, b)


def pinv(a, rcond=1e-15, hermitian=False):
    """The pseudo-inverse."""
    return torch.linalg.pinv(at_least_float(tensor(a)), rtol=rcond, hermitian=hermitian)


def norm(x, ord=None, axis=None, keepdims=False):
    """Norms of vectors and matrices."""
    x = tensor(x)
    result = torch.linalg.norm(at_least_float(x), ord=ord, dim=axis)
    return _kept(result, axis, x.ndim) if keepdims else result


def qr(a, mode="reduced"):
    """An orthogonal matrix and a triangular one."""
    result = torch.linalg.qr(at_least_float(tensor(a)), mode=mode)
    return result.R if mode == "r" else result


def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    """Singular values, and the vectors to them."""
    a = at_least_float(tensor(a))
    return torch.linalg.svd(a, full_matrices=full_matrices) if compute_uv else torch.linalg.svdvals(a)


TABLE.update({f.__name__: f for f in (solve, pinv, norm, qr, svd)})
