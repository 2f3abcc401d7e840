# copy.copy and copy.deepcopy in compiled functions: copies of containers by their own methods, and of tensors, break the graph.
import copy

import torch
from torch._dynamo.testing import CompileCounter
class P:
    def __init__(self, t): self.t = t
class Q:
    __slots__ = ("t",)
    def __init__(self, t): self.t = t
class R:
    def __init__(self, t): self.t = t
    def __copy__(self): return R(self.t + 1)
m = torch.nn.Linear(2, 2)
def c1(x): return copy.copy([x, 1])[0] * 2
def c2(x): return copy.copy({1: x})[1] * 2
def c3(x): return copy.copy(P(x)).t * 2
def c4(x): return copy.copy(x) * 2
def c5(x): return copy.copy(R(x)).t * 2
def c6(x): return copy.copy((x, 2))[0] * 2
def c7(x): return copy.copy({1, 2}), x * 2
def c8(x): return copy.copy(3) * x
def d1(x): return copy.deepcopy([1, {2: 3}]), x * 2
def d2(x): return copy.deepcopy([x, 1])[0] * 2
def d4(x): return copy.deepcopy(P(3)).t * x
def d5(x): return copy.deepcopy(x + 1) * 2
def d6(x): return copy.deepcopy(m)(x) * 2
def d7(x): return copy.deepcopy((1, "a", None)), x * 2
def d8(x): return copy.deepcopy(x.shape), x * 2
for fn in (c1, c2, c3, c4, c5, c6, c7, c8, d1, d2, d4, d5, d6, d7, d8):
    for full in (False, True):
        torch._dynamo.reset(); k = CompileCounter()
        torch.manual_seed(0)
        try: r = torch.compile(fn, backend=k, fullgraph=full)(torch.ones(1, 2)); r = "ok"
        except Exception as e: r = type(e).__name__ + " " + "|".join(l.strip() for l in str(e).strip().splitlines()[:4])[:200]
        print(fn.__name__, full, r, k.frame_count, k.op_count)
