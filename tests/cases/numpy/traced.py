# numpy in compiled functions is part of their graphs: functions, methods, operators, indices, writes, promotion, and what ends a graph.
import numpy as np
import torch
from torch._dynamo.testing import CompileCounter


@torch.compile(fullgraph=True)
def weighted(x, y):
    return np.sum(x * y, axis=1) / 2 + np.sin(x).mean(axis=1)


x = np.arange(12, dtype=np.float32).reshape(3, 4)
print(repr(weighted(x, np.ones((3, 4)))))


@torch.compile(fullgraph=True)
def reduced(x):
    z = x.reshape(-1)[::2]
    w = np.concatenate([z, z * 2])
    return w.max(), w.argmin(), w.std(), w


for value in reduced(x):
    print(type(value).__name__, value.dtype, value.shape, value)


@torch.compile(fullgraph=True)
def written(x):
    x[0] = 7.0
    x[1:] += 1
    y = x.copy()
    y[y > 5] = -1
    return x.sum(), y


x = np.zeros((3, 2))
print(written(x), x)


@torch.compile
def product(t, w):
    return torch.from_numpy(t.numpy() @ w).sum() + t.sum()


print(product(torch.ones(2, 3), np.full((3, 2), 0.5, dtype=np.float32)))


@torch.compile
def chosen(x):
    m = x > 0.5
    y = np.where(m, x, -x)
    z = np.zeros_like(y)
    z[1] = y[1]
    return z, m, np.stack([y, z]), y.T, x[:, ::-1], x[[0, 1], [1, 2]]


for value in chosen(np.linspace(0, 1, 6).reshape(2, 3)):
    print(value, value.dtype, value.strides)


@torch.compile
def positions(n, d):
    p = np.arange(n)[:, None] / np.power(10000, 2 * (np.arange(d)[None] // 2) / d)
    p[:, 0::2] = np.sin(p[:, 0::2])
    p[:, 1::2] = np.cos(p[:, 1::2])
    return torch.from_numpy(p).float()


print(positions(4, 6))


@torch.compile
def loss(x, w, y):
    return ((torch.tanh(x @ w) - torch.from_numpy(y)) ** 2).mean()


w = torch.full((3, 1), 0.3, requires_grad=True)
value = loss(torch.arange(6.0).reshape(2, 3), w, np.array([[0.5], [0.25]], dtype=np.float32))
value.backward()
print(value, w.grad)


@torch.compile
def promoted(i, h):
    return i + 1, i * 2.5, i / 2, i // 2, h * 2, h + np.float64(1), i > 1, np.exp(i), np.sqrt(h), i**2, -i, ~(i > 1)


for value in promoted(np.arange(3, dtype=np.int32), np.ones(2, dtype=np.float16)):
    print(repr(value))


def counted(function, *arguments):
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(function, backend=counter)
    print(function.__name__, [compiled(*given) for given in arguments], counter.frame_count)


def branched(x, a):
    return x + a[0] if a.sum() > 1 else x


def sized(x, a):
    return a + 1


def printed(x, a):
    y = a * 2
    print("before", y)
    return y + 1


def unsupported(x, a):
    b = a + 1
    return b * np.nanmean(b)


def held(x, d):
    d["y"] = d["x"] * 2
    d["all"].append(d["x"].sum())
    return x


t, d = torch.ones(3), {"x": np.ones(2), "all": []}
counted(branched, (t, np.ones(3)), (t, np.zeros(3)), (t, np.ones(3)))
counted(sized, (t, np.ones(3)), (t, np.zeros(3)), (t, np.ones(4)), (t, np.ones(5)), (t, np.ones(5, dtype=np.float32)))
counted(printed, (t, np.ones(2)), (t, np.zeros(2)))
counted(unsupported, (t, np.ones(2)))
counted(held, (t, d))
print(d)
with torch._dynamo.config.patch(trace_numpy=False):
    counted(sized, (t, np.ones(3)))
try:
    torch.compile(unsupported, fullgraph=True)(t, np.ones(2))
except Exception as error:
    print(type(error).__name__, str(error).splitlines()[0])
