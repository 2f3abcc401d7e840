# Elements of complex tensors by index, moved and padded, with their gradients.
import torch
import torch.nn.functional as F


def numbers(*sizes):
    count = torch.Size(sizes).numel()
    base = torch.arange(count, dtype=torch.float64)
    return torch.complex((base * 0.37).sin(), (base * 0.71 + 1).cos()).reshape(sizes)


def show(x):
    x = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
    return [round(v, 3) + 0.0 for v in x.flatten().tolist()]


A, B, v = numbers(3, 3), numbers(3, 3) + 1, numbers(3) + 2j
i, row, mask = torch.tensor([2, 0]), torch.tensor([[0, 1, 2]]), A.real > 0.3
cases = {
    "scatter": lambda a, b: a.scatter(0, row, b[:1]),
    "scatter value": lambda a, b: a.scatter(0, row, 2j),
    "scatter_add": lambda a, b: a.scatter_add(0, row, b[:1]),
    "index_add": lambda a, b: a.index_add(0, i, b[:2], alpha=2),
    "index_copy": lambda a, b: a.index_copy(0, i, b[:2]),
    "index_fill": lambda a, b: a.index_fill(0, i, 1j) * b,
    "index_select": lambda a, b: a.index_select(0, i) * b[:2],
    "take": lambda a, b: a.take(i) * b.take(i),
    "put": lambda a, b: a.put(i, b[0, :2]),
    "masked_select": lambda a, b: a.masked_select(mask) * b.masked_select(mask),
    "masked_scatter": lambda a, b: a.masked_scatter(mask, b),
    "diag": lambda a, b: a.diag() * b.diagonal(),
    "diagonal_scatter": lambda a, b: a.diagonal_scatter(b[0]),
    "block_diag": lambda a, b: torch.block_diag(a, b[0]),
    "vander": lambda a, b: torch.linalg.vander(a[0]) * b,
    "reflect": lambda a, b: F.pad(a * b, (1, 1), mode="reflect"),
    "replicate": lambda a, b: F.pad(a * b, (1, 1), mode="replicate"),
    "unfold": lambda a, b: F.unfold((a * b)[None, None], 2),
    "fold": lambda a, b: F.fold((a * b)[None, :1].expand(1, 4, 3)[:, :, :1], (2, 2), 2),
}
for name, f in cases.items():
    a, b = A.clone().requires_grad_(), B.clone().requires_grad_()
    out = f(a, b)
    (out * numbers(*out.shape)).sum().abs().backward()
    grads = [None if x.grad is None else show(x.grad) for x in (a, b)]
    print(name, out.dtype, tuple(out.shape), show(out.detach())[:8], *grads)
print(A.scatter_reduce(0, row, B[:1], "sum")[0].tolist()[0])
print(show(F.embedding(i, A)))
print(A.nonzero().shape, A.argwhere().shape, torch.where(mask, A, v)[0].tolist()[0])
