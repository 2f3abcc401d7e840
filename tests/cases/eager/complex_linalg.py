# Factorizations, systems and eigenvalues of complex matrices, with their gradients.
import torch


def numbers(*sizes):
    count = torch.Size(sizes).numel()
    base = torch.arange(count, dtype=torch.float64)
    return torch.complex((base * 0.37).sin(), (base * 0.71 + 1).cos()).reshape(sizes)


def show(x):
    x = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
    return [round(v, 3) + 0.0 for v in x.flatten().tolist()]


L = torch.linalg
eye = torch.eye(3)
A, B, v = numbers(3, 3) + 0.1 * eye, numbers(3, 3) * 0.5 + 1, numbers(3)


def positive(a):
    return a @ a.mH + eye


def of_vectors(a):
    values, vectors = L.eig(a)
    return (vectors * values.abs()).abs().sum(1)


cases = {
    "inv": lambda a: L.inv(a + 3 * eye),
    "solve": lambda a: L.solve(a + 3 * eye, B),
    "solve vector": lambda a: L.solve(a + 3 * eye, v),
    "solve from the right": lambda a: L.solve(a + 3 * eye, B, left=False),
    "solve batches": lambda a: L.solve(torch.stack([a + 3 * eye, a.mH + 4 * eye]), B),
    "det": lambda a: L.det(a + 2 * eye),
    "sign": lambda a: L.slogdet(a + 2 * eye)[0],
    "logabsdet": lambda a: L.slogdet(a + 2 * eye)[1],
    "logdet": lambda a: torch.logdet(a + 2 * eye),
    "cholesky": lambda a: L.cholesky(positive(a)),
    "cholesky upper": lambda a: L.cholesky(positive(a), upper=True),
    "cholesky_solve": lambda a: torch.cholesky_solve(B, L.cholesky(positive(a))),
    "cholesky_inverse": lambda a: torch.cholesky_inverse(L.cholesky(positive(a))),
    "qr": lambda a: L.qr(a)[1],
    "q": lambda a: L.qr(a[:, :2])[0],
    "svdvals": L.svdvals,
    "low rank": lambda a: (lambda u, s, vh: (u[:, :2] * s[:2]) @ vh[:2])(*L.svd(a)),
    "eigvalsh": lambda a: L.eigvalsh(a + a.mH),
    "projection": lambda a: (lambda q: q[:, :1] @ q[:, :1].mH)(L.eigh(a + a.mH)[1]),
    "eigvals": lambda a: L.eigvals(a).abs().sort()[0],
    "eig": of_vectors,
    "lstsq": lambda a: L.lstsq(a + 3 * eye, B)[0],
    "tall lstsq": lambda a: L.lstsq(a[:, :2], B)[0],
    "pinv": lambda a: L.pinv(a[:, :2]),
    "hermitian pinv": lambda a: L.pinv(a + a.mH, hermitian=True),
    "matrix_exp": torch.matrix_exp,
    "triangular": lambda a: L.solve_triangular(a.triu() + 2 * eye, B, upper=True),
    "triangular from the right": lambda a: L.solve_triangular(a.tril() + 2 * eye, B, upper=False, left=False),
    "lu": lambda a: L.lu(a)[2],
    "l": lambda a: L.lu(a)[1],
    "lu_solve": lambda a: L.lu_solve(*L.lu_factor(a + 3 * eye), B),
    "lu_solve adjoint": lambda a: L.lu_solve(*L.lu_factor(a + 3 * eye), B, adjoint=True),
    "cond": L.cond,
    "nuclear norm": lambda a: L.matrix_norm(a, "nuc"),
    "tensorinv": lambda a: L.tensorinv((a + 3 * eye).reshape(3, 3), ind=1),
}
for name, f in cases.items():
    a = A.clone().requires_grad_()
    out = f(a)
    (out * numbers(*out.shape)).sum().abs().backward()
    print(name, out.dtype, tuple(out.shape), show(out.detach())[:6], show(a.grad)[:8])
print(L.matrix_rank(A), L.cholesky_ex(A)[1])
for f in (lambda: L.cholesky(A - 9), lambda: L.inv(torch.zeros(2, 2, dtype=A.dtype))):
    try:
        f()
    except L.LinAlgError as e:
        print(str(e)[:60])
values, vectors = L.eig(A)
print(torch.allclose(A.to(values.dtype) @ vectors, vectors * values), show(vectors.abs().square().sum(0)))
u, s, vh = L.svd(numbers(4, 2))
print(u.shape, vh.shape, torch.allclose(u.mH @ u, torch.eye(4, dtype=u.dtype)), torch.allclose((u[:, :2] * s) @ vh, numbers(4, 2)))
