# keep: operator:while_loop
import torch
from torch._higher_order_ops.while_loop import while_loop


@torch.compile(fullgraph=True)
def root(a):
    def cond_fn(i, x):
        return (i < 20) & ((x * x - a).abs().max() > 1e-6)

    def body_fn(i, x):
        return i + 1, 0.5 * (x + a / x)
    n, r = while_loop(cond_fn, body_fn, (torch.zeros((), dtype=torch.long), a / 2 + 0.5))
    return n, r * 2


n, r = root(torch.tensor([2.0, 9.0, 16.0]))
print(int(n), [round(v, 5) for v in r.tolist()])


@torch.compile(fullgraph=True)
def collatz(n):
    def go(v, k):
        return v != 1

    def step(v, k):
        return torch.where(v % 2 == 0, v // 2, 3 * v + 1), k + 1
    return while_loop(go, step, (n, torch.tensor(0)))


print([int(collatz(torch.tensor(k))[1]) for k in (1, 6, 7, 27)])


@torch.compile(fullgraph=True)
def power_iter(mat, v):
    def go(it, vec):
        return it < 5

    def body(it, vec):
        w = mat @ vec
        return it + 1, w / w.norm()
    _, v = while_loop(go, body, (torch.tensor(0), v))
    return v, v @ mat @ v


torch.manual_seed(0)
q = torch.randn(4, 4)
v, lam = power_iter(q @ q.T, torch.ones(4))
print(v.abs().round(decimals=3), round(lam.item(), 3))


@torch.compile(fullgraph=True)
def count(n, x):
    def c(i, y):
        return i < n

    def b(i, y):
        return i + 1, y + i
    return while_loop(c, b, (0, x))


for k in (3, 5):
    print(count(k, torch.zeros(2)))
