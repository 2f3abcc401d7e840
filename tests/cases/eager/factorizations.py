"""Small factorizations, and the signs of eigenvectors and singular vectors, which depend on every step's choice."""
import torch
import torch.nn.functional as F


def size(t):
    """Sums of a tensor's absolute values, as it is and moved by one: the second depends on signs."""
    t = t.detach().double()
    return "%.5e %.5e" % (t.abs().sum(), (t + 1).abs().sum())


def digest(*tensors):
    return " ".join(size(t) for t in tensors)


def signs(t):
    return "".join("+" if v > 0 else "-" for v in t.flatten().tolist())


torch.manual_seed(0)
for n in [1, 2, 3, 4, 5, 7, 8, 11, 16]:
    a = torch.randn(n, n)
    lu, pivots = torch.linalg.lu_factor(a)
    q, r = torch.linalg.qr(a)
    print(n, "lu", digest(lu), pivots.tolist(), "qr", digest(q, r), "inv", digest(torch.linalg.inv(a)), "det", "%.5f" % torch.linalg.det(a))
    print(n, "solve", [digest(torch.linalg.solve(a, torch.randn(n, k))) for k in (1, 2, 3, 5, 9)])
    lower, b = a.tril() + 2 * torch.eye(n), torch.randn(n, 4)
    print(n, "triangular", digest(torch.linalg.solve_triangular(lower, b, upper=False), torch.linalg.solve_triangular(lower.T, b, upper=True)))
for shape in [(5, 3), (3, 5), (8, 2), (12, 7)]:
    q, r = torch.linalg.qr(torch.randn(*shape))
    print(shape, "qr", digest(q, r))

for n in [1, 2, 3, 4, 6, 9]:
    a = torch.randn(n, n)
    values, vectors = torch.linalg.eigh(a @ a.T)
    print(n, "eigh", signs(vectors), digest(values) if n < 4 else "")
    for shape in [(n, n), (n, n + 1), (n + 1, n), (n, 2 * n + 1), (2 * n + 2, n)]:
        u, s, vh = torch.linalg.svd(torch.randn(*shape), full_matrices=False)
        print(shape, "svd", signs(u), signs(vh))
a = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
print(torch.linalg.eigh(a), torch.linalg.svd(a))
points = torch.randn(20, 3) @ torch.tensor([[2.0, 0.5, 0.1], [0.0, 1.0, 0.3], [0.0, 0.0, 0.2]])
u, s, v = torch.svd(points - points.mean(0))
print("directions", v, "values", s)

# Batch statistics, weight norms, windows, distances, and attention of few rows.
x = torch.randn(4, 8, 4, 4) * 2 + 0.5
mean, variance = torch.zeros(8), torch.ones(8)
print("batch norm", digest(F.batch_norm(x, mean, variance, training=True), mean, variance))
layer = torch.nn.utils.weight_norm(torch.nn.Linear(24, 5))
layer(torch.randn(3, 24)).pow(2).sum().backward()
print("weight norm", digest(layer.weight), digest(layer.weight_g.grad))
print("windows", digest(torch.hann_window(64), torch.hamming_window(20), torch.bartlett_window(15), torch.blackman_window(12)))
p, q = torch.randn(5, 7, requires_grad=True), torch.randn(6, 7)
distances = torch.cdist(p, q)
distances.sum().backward()
print("distances", digest(distances, p.grad))
for rows, cols in [(1, 3), (1, 16), (2, 5), (3, 3)]:
    q, k, v = (torch.randn(1, 2, n, 8) for n in (rows, cols, cols))
    print("attention", rows, cols, digest(F.scaled_dot_product_attention(q, k, v)))


def tried(f, *args):
    try:
        print(*f(*args))
    except (RuntimeError, IndexError, NotImplementedError) as e:
        print(type(e).__name__, e)


torch.manual_seed(5)
for n in (0, 1, 2, 5, 8):
    a = torch.randn(2, n, n)
    # Zeros on the diagonal need blocks of two rows.
    a = torch.stack([a[0] + a[0].mT, (a[1] + a[1].mT) * (1 - torch.eye(n))])
    found = torch.linalg.ldl_factor_ex(a)
    x = torch.linalg.ldl_solve(found.LD, found.pivots, torch.ones(2, n, 3))
    print(found, found.LD.stride(), x.stride(), torch.allclose(a @ x, torch.ones(2, n, 3), atol=1e-3))
print(torch.linalg.ldl_factor_ex(torch.zeros(2, 2)))
factors, pivots = torch.linalg.ldl_factor(torch.tensor([[1.0, 2, 3], [2, 4, 5], [3, 5, 6]]))
print(torch.linalg.ldl_solve(factors, pivots, torch.eye(3).expand(2, 3, 3)).shape)
for shape in [(2, 3), (2,)]:
    tried(torch.linalg.ldl_factor, torch.zeros(shape))
tried(torch.linalg.ldl_factor, torch.zeros(2, 2, dtype=torch.int64))
for p, rhs in [(pivots, torch.ones(3)), (pivots, torch.ones(2, 2)), (pivots.float(), torch.ones(3, 2)), (pivots[:2], torch.ones(3, 2)), (pivots, torch.ones(3, 2).double())]:
    tried(torch.linalg.ldl_solve, factors, p, rhs)
tried(lambda: torch.linalg.ldl_factor(torch.eye(2, requires_grad=True))[0].sum().backward())
