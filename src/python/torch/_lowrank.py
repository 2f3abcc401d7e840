"""`svd_lowrank` and `pca_lowrank`: singular values of a matrix seen through a random subspace (Halko, Martinsson and Tropp, 2009)."""

import torch


def get_approximate_basis(A, q, niter=2, M=None):
    """Orthonormal columns that span about what the matrix reaches."""
    A = A if M is None else A - M
    basis = torch.linalg.qr(A @ torch.randn(A.shape[-1], q, dtype=A.dtype, device=A.device)).Q
    for _ in range(2 if niter is None else niter):
        basis = torch.linalg.qr(A.mH @ basis).Q
        basis = torch.linalg.qr(A @ basis).Q
    return basis


def svd_lowrank(A, q=6, niter=2, M=None):
    """The largest singular values, about, with their vectors."""
    A = A if M is None else A - M
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A = A.mH
    basis = get_approximate_basis(A, 6 if q is None else q, niter)
    U, S, Vh = torch.linalg.svd(basis.mH @ A, full_matrices=False)
    U, V = basis @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    """The principal components of rows, about."""
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not (q >= 0 and q <= min(m, n)):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if not niter >= 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not A.is_floating_point():
        raise ValueError(f"input must be a floating point tensor, but got dtype={A.dtype}")
    return svd_lowrank(A - A.mean(dim=-2, keepdim=True) if center else A, q, niter)
