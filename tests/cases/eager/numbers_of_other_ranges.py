"""Python numbers in calls on tensors of other dtypes: they are cast to the dtype first, or refused where an element can't hold them."""

import torch
import warnings

warnings.simplefilter("ignore")


def show(name, calls, x, k):
    print(name)
    for call, f in calls.items():
        try:
            r = f(x, k)
            print("   ", call, str(r.dtype).removeprefix("torch."), r.tolist())
        except Exception as e:
            print("   ", call, type(e).__name__, str(e)[:90])


mask = torch.tensor([True, False])
first = torch.tensor([0])
F = torch.nn.functional
whole = {
    "add": lambda x, k: x + k,
    "rsub": lambda x, k: k - x,
    "mul": lambda x, k: x * k,
    "floor": lambda x, k: x // k,
    "rfloor": lambda x, k: k // x,
    "remainder": lambda x, k: x % k,
    "fmod": lambda x, k: torch.fmod(x, k),
    "trunc": lambda x, k: torch.div(x, k, rounding_mode="trunc"),
    "eq": lambda x, k: x == k,
    "lt": lambda x, k: x < k,
    "rlt": lambda x, k: k < x,
    "ge": lambda x, k: x >= k,
    "clamp_min": lambda x, k: x.clamp(min=k),
    "clamp_max": lambda x, k: x.clamp(max=k),
    "or": lambda x, k: x | k,
    "fill_": lambda x, k: x.clone().fill_(k),
    "masked_fill": lambda x, k: x.masked_fill(mask, k),
    "where": lambda x, k: torch.where(mask, x, k),
    "maximum": lambda x, k: torch.maximum(x, torch.tensor(k)),
    "alpha": lambda x, k: torch.add(x, x, alpha=k),
    "addcmul": lambda x, k: torch.addcmul(x, x, x, value=k),
    "tensor": lambda x, k: torch.tensor([k], dtype=x.dtype),
    "index_fill": lambda x, k: x.index_fill(0, first, k),
    "threshold": lambda x, k: F.threshold(x, k, k),
    "truediv": lambda x, k: x / k,
}
for dtype in torch.uint8, torch.int8, torch.int32, torch.int64:
    for k in -2, 300, 2**40, -(2**33):
        show(f"{dtype} {k}", whole, torch.tensor([5, 100], dtype=dtype), k)

real = {
    "add": lambda x, k: x + k,
    "div": lambda x, k: x / k,
    "remainder": lambda x, k: x % k,
    "fmod": lambda x, k: torch.fmod(x, k),
    "eq": lambda x, k: x == k,
    "lt": lambda x, k: x < k,
    "ge": lambda x, k: x >= k,
    "clamp_min": lambda x, k: x.clamp(min=k),
    "fill_": lambda x, k: x.clone().fill_(k),
    "one": lambda x, k: torch.full((1,), k, dtype=x.dtype),
    "two": lambda x, k: torch.full((2,), k, dtype=x.dtype),
    "pow": lambda x, k: x**k,
    "alpha": lambda x, k: torch.add(x, x, alpha=k),
    "addcmul": lambda x, k: torch.addcmul(x, x, x, value=k),
    "lerp": lambda x, k: torch.lerp(x, x * 2, k),
    "leaky_relu": lambda x, k: F.leaky_relu(-x, k),
    "atan2": lambda x, k: torch.atan2(x, torch.tensor(k)),
    "hypot": lambda x, k: torch.hypot(x, torch.tensor(k)),
    "hardshrink": lambda x, k: F.hardshrink(x, k),
    "softshrink": lambda x, k: F.softshrink(x, k),
    "addmm": lambda x, k: torch.addmm(x, x[None], torch.eye(2, dtype=x.dtype), alpha=k, beta=k),
    "xlogy": lambda x, k: torch.xlogy(x, k),
}
for dtype in torch.float16, torch.bfloat16, torch.float32:
    for k in 0.1, 1e-8, 70000.0, 1e39, 1 / 3:
        show(f"{dtype} {k:.3g}", real, torch.tensor([0.1, 3.0], dtype=dtype), k)
show("negative", {"softshrink": real["softshrink"]}, torch.ones(2), -1.0)
show("nan", {"softshrink": real["softshrink"]}, torch.ones(2), float("nan"))

# The same in compiled functions, also in those that are large enough to be fused.
for dtype in torch.uint8, torch.int8, torch.float16:
    for n in 2, 20000:
        x = (torch.arange(n) % 100 / (1 if dtype != torch.float16 else 10)).to(dtype)
        for k in (-2, 300) if dtype != torch.float16 else (0.1, 0.7):
            f = lambda x: (x % k, x == k, x < k, torch.fmod(x, k))
            same = [torch.equal(a, b) for a, b in zip(torch.compile(f, backend="aot_eager")(x), f(x))]
            print(dtype, n, k, same, [r.long().sum().item() for r in f(x)])
for f in lambda x: x.clamp(min=300), lambda x: F.softshrink(x / 2, -1.0):
    try:
        torch.compile(f, fullgraph=True)(torch.ones(2, dtype=torch.uint8))
    except Exception as e:
        print(type(e).__name__, str(e).split("got ")[1].splitlines()[0])
