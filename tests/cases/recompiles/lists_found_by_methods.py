"""Lists that methods and functions append to are guarded where those find them."""
import torch
state = {"log": []}
class A: pass
a = A(); a.log = []
def mk():
    log = []
    def fn(x):
        log.append(1)
        return x + 1
    return fn
@torch.compile(backend="aot_eager")
def f1(x):
    state["log"].append(1)
    return x + 1
@torch.compile(backend="aot_eager")
def f2(x):
    a.log.append(1)
    return x + 2
def helper(l):
    l.append(2)
@torch.compile(backend="aot_eager")
def f3(x):
    helper(a.log)
    return x + 3
f4 = torch.compile(mk(), backend="aot_eager")
class H:
    def __init__(self, log): self.log = log
    def touch(self, v): self.log.append(v)
h = H([])
@torch.compile(backend="aot_eager")
def f5(x):
    h.touch(1)
    return x + 5
def mk6():
    log = []
    class H:
        def touch(self, v):
            log.append(v)
    h = H()
    def fn(x):
        h.touch(1)
        return x * 2
    return fn
f6 = torch.compile(mk6(), backend="aot_eager")
for f in (f1, f2, f3, f4, f5, f6):
    f(torch.ones(1)); f(torch.ones(1))


def measuring():
    size = None

    def measure(x):
        nonlocal size
        size = x.shape[0] * 2
        return x * 2

    return measure, lambda: size


measure, size = measuring()
measure = torch.compile(measure, backend="aot_eager", dynamic=True)
for n in (3, 4):
    measure(torch.ones(n))
    print(size())
