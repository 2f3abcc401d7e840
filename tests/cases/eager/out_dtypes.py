"""Which dtypes a tensor given as `out=` may have: families of operators check it in ways of their own."""

import torch

a = torch.tensor([[1.5, 0.25], [0.5, 2.0]])
v = torch.tensor([0.5, 0.25])
i = torch.tensor([[1, 2], [3, 1]])
index = torch.tensor([[0, 1], [1, 0]])
batch = torch.ones(1, 2, 2)

CALLS = {
    "exp": lambda o: torch.exp(a, out=o),
    "add": lambda o: torch.add(a, 1, out=o),
    "add of integers": lambda o: torch.add(i, i, out=o),
    "pow": lambda o: torch.pow(2.0, a, out=o),
    "addcmul": lambda o: torch.addcmul(a, a, a, out=o),
    "lerp": lambda o: torch.lerp(a, a, 0.5, out=o),
    "lerp of tensors": lambda o: torch.lerp(a, a, a, out=o),
    "clamp": lambda o: torch.clamp(a, 0, 1, out=o),
    "clamp of tensors": lambda o: torch.clamp(a, a, a, out=o),
    "abs": lambda o: torch.abs(a, out=o),
    "neg of integers": lambda o: torch.neg(i, out=o),
    "square": lambda o: torch.square(a, out=o),
    "eq": lambda o: torch.eq(a, 1.5, out=o),
    "logical_not": lambda o: torch.logical_not(a, out=o),
    "isposinf": lambda o: torch.isposinf(a, out=o),
    "all": lambda o: torch.all(a, 1, out=o),
    "where": lambda o: torch.where(a > 1, a, a, out=o),
    "nan_to_num": lambda o: torch.nan_to_num(a, out=o),
    "float_power": lambda o: torch.float_power(a, 2, out=o),
    "sum": lambda o: torch.sum(a, 1, out=o),
    "prod": lambda o: torch.prod(a, 1, out=o),
    "cumsum": lambda o: torch.cumsum(a, 1, out=o),
    "mean": lambda o: torch.mean(a, 1, out=o),
    "amax": lambda o: torch.amax(a, 1, out=o),
    "argmax": lambda o: torch.argmax(a, 1, out=o),
    "norm": lambda o: torch.norm(a, dim=1, out=o),
    "softmax": lambda o: torch.softmax(a, 1, out=o),
    "cat": lambda o: torch.cat([a, a], out=o),
    "stack": lambda o: torch.stack([a, a], out=o),
    "hstack": lambda o: torch.hstack([i, i], out=o),
    "mm": lambda o: torch.mm(a, a, out=o),
    "matmul": lambda o: torch.matmul(batch, batch, out=o),
    "mv": lambda o: torch.mv(a, v, out=o),
    "dot": lambda o: torch.dot(v, v, out=o),
    "inner": lambda o: torch.inner(v, v, out=o),
    "outer": lambda o: torch.outer(v, v, out=o),
    "addmm": lambda o: torch.addmm(a, a, a, out=o),
    "multi_dot": lambda o: torch.linalg.multi_dot([a, a, a], out=o),
    "inv": lambda o: torch.linalg.inv(a, out=o),
    "linalg.norm": lambda o: torch.linalg.norm(a, out=o),
    "gather": lambda o: torch.gather(a, 1, index, out=o),
    "index_select": lambda o: torch.index_select(a, 0, index[0], out=o),
    "take": lambda o: torch.take(a, index, out=o),
    "masked_select": lambda o: torch.masked_select(a, a > 1, out=o),
    "nonzero": lambda o: torch.nonzero(a, out=o),
    "scatter_add": lambda o: torch.scatter_add(a, 1, index, a, out=o),
    "tril": lambda o: torch.tril(a, out=o),
    "searchsorted": lambda o: torch.searchsorted(v, a, out=o),
    "arange": lambda o: torch.arange(3, out=o),
    "linspace": lambda o: torch.linspace(0, 3, 4, out=o),
    "full": lambda o: torch.full((2,), 1.5, out=o),
    "rfft": lambda o: torch.fft.rfft(v, out=o),
    "complex": lambda o: torch.complex(a, a, out=o),
}
PAIRS = {
    "max": lambda o: torch.max(a, 1, out=o),
    "sort": lambda o: torch.sort(a, 1, out=o),
    "topk": lambda o: torch.topk(a, 1, out=o),
    "kthvalue": lambda o: torch.kthvalue(a, 1, out=o),
    "mode": lambda o: torch.mode(a, 1, out=o),
    "median": lambda o: torch.median(a, 1, out=o),
    "cummax": lambda o: torch.cummax(a, 1, out=o),
    "aminmax": lambda o: torch.aminmax(a, dim=1, out=o),
    "frexp": lambda o: torch.frexp(a, out=o),
}
DTYPES = [torch.float32, torch.float64, torch.float16, torch.int64, torch.bool, torch.complex64]


def attempt(call, out):
    try:
        call(out)
        return " ".join(str(o.tolist()) for o in (out if isinstance(out, tuple) else (out,)))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


for name, call in CALLS.items():
    for dtype in DTYPES:
        print(name, dtype, attempt(call, torch.empty(0, dtype=dtype)))
for name, call in PAIRS.items():
    for dtypes in ((torch.float32, torch.int64), (torch.float64, torch.int64), (torch.float32, torch.int32), (torch.float32, torch.float32)):
        print(name, dtypes, attempt(call, tuple(torch.empty(0, dtype=dtype) for dtype in dtypes)))

for name, call in {"std": lambda o: torch.std(a, 1, out=o), "logsumexp": lambda o: torch.logsumexp(a, 1, out=o)}.items():
    for dtype in (torch.float32, torch.int64):
        print(name, dtype, attempt(call, torch.empty(0, dtype=dtype)))

# What is refused is not written.
out = torch.zeros(2, dtype=torch.int64)
print(attempt(lambda o: torch.mul(v, 4, out=o), out), out)
