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
