# Dynamic things: variable length batches, python control flow, nested fns, closures, try/except, dict outputs, namedtuple state
import torch, torch.nn as nn, torch.nn.functional as F
from typing import NamedTuple, Optional, Dict
from contextlib import contextmanager
torch.manual_seed(0)
class State(NamedTuple):
    h: torch.Tensor
    c: torch.Tensor
    step: int
class Cell(nn.Module):
    def __init__(self, i, h):
        super().__init__(); self.x2h, self.h2h, self.hs = nn.Linear(i, 4 * h), nn.Linear(h, 4 * h, bias=False), h
    def forward(self, x, s: State) -> State:
        i, f, g, o = (self.x2h(x) + self.h2h(s.h)).chunk(4, -1)
        c = s.c * f.sigmoid() + i.sigmoid() * g.tanh()
        return State(o.sigmoid() * c.tanh(), c, s.step + 1)
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.emb, self.cell, self.out = nn.Embedding(10, 8, padding_idx=0), Cell(8, 8), nn.ModuleDict({"a": nn.Linear(8, 3), "b": nn.Linear(8, 2)})
        self.calls = 0; self.log: Dict[str, list] = {"n": []}
    def forward(self, ids, lengths: Optional[torch.Tensor] = None, head="a", verbose=False):
        self.calls += 1
        b, t = ids.shape
        s = State(torch.zeros(b, 8), torch.zeros(b, 8), 0)
        x = self.emb(ids); outs = []
        for k in range(t):
            s2 = self.cell(x[:, k], s)
            if lengths is not None:
                m = (k < lengths).unsqueeze(-1)
                s = State(torch.where(m, s2.h, s.h), torch.where(m, s2.c, s.c), s2.step)
            else:
                s = s2
            outs.append(s.h)
        if verbose: print("steps", s.step)
        return {"logits": self.out[head](s.h), "all": torch.stack(outs, 1), "n": s.step}
net = Net(); fast = torch.compile(net)
for t in (3, 3, 4):
    ids = torch.randint(1, 10, (2, t)); L = torch.tensor([t, t - 1])
    r = fast(ids, L, head="a" if t == 3 else "b", verbose=t == 4)
    r["logits"].sum().backward(); print(t, r["all"].shape, r["n"], net.calls, f"{net.emb.weight.grad.abs().sum():.4f}")
@torch.compile
def search(x, target):
    lo, n = x.min(), 0
    for n in range(5):
        y = x - n * 0.5
        if y.sum() < target: break
        x = x * 0.9
    else:
        return x, -1
    return x, n
print(search(torch.ones(4) * 2, 3.0), search(torch.ones(4) * 2, -100.0))
def make(k):
    acc = []
    def f(x):
        acc.append(k); y = x * k + len(acc)
        try:
            if k > 2: raise ValueError("big")
        except ValueError as e:
            y = y - len(str(e))
        finally:
            y = y + 1
        return y
    return f, acc
for k in (1, 3):
    f, acc = make(k); g = torch.compile(f)
    print(g(torch.ones(2)), g(torch.ones(2)), acc)
@contextmanager
def scaled(flag):
    yield 2.0 if flag else 1.0
@torch.compile
def ctx(x, flag):
    with scaled(flag) as s:
        x = x * s
    return [x.sum(), *(v for v in x.unbind())], sorted({"b": 1, "a": 2}), f"{flag}"
print(ctx(torch.arange(3.), True), ctx(torch.arange(3.), False))
class Acc:
    def __init__(self): self.total, self.n = torch.zeros(()), 0
    def add(self, v): self.total = self.total + v; self.n += 1; return self
    @property
    def mean(self): return self.total / self.n
    def __call__(self, v): return self.add(v).mean
acc = Acc(); upd = torch.compile(acc)
print([upd(torch.tensor(float(i))).item() for i in range(3)], acc.n)
