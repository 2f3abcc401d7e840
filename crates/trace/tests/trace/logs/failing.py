import torch
def bad(gm, inputs): raise RuntimeError("my backend fails")
@torch.compile(backend=bad)
def f(x): return x.sin() * 2
try: f(torch.randn(3))
except Exception as e: print(type(e).__name__)
@torch.compile(fullgraph=True, backend="aot_eager")
def g(x):
    print(x.sum().item())
    return x + 1
try: g(torch.randn(3))
except Exception as e: print(type(e).__name__)
@torch.compile(backend="eager")
def h(x): return x.cos() + 1
h(torch.randn(3)); h(torch.randn(4)); h(torch.randn(5))
