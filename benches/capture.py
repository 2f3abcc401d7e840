"""What a call of a compiled function costs once it is in the cache, next to the same call without `torch.compile`, and what its
guards cost alone; what compiled autograd costs, next to the eager backward. Ours: `cargo bench --no-default-features --features python --bench capture`; PyTorch's: `python benches/capture.py`.
"""

import time

import torch
from block import Block
from torch._dynamo import compiled_autograd
from torch._dynamo.eval_frame import _debug_get_cache_entry_list


def fastest(f, runs=30, calls=1):
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        for _ in range(calls):
            f()
        best = min(best, time.perf_counter() - start)
    return best / calls * 1e6


block = Block()
x = torch.randn(2, 8, 32)
eager = fastest(lambda: block(x))
compiled = torch.compile(block, backend="aot_eager")
compiled(x)
cached = fastest(lambda: compiled(x))
(entry,) = _debug_get_cache_entry_list(Block.forward)
variables = {"self": block, "x": x}
assert entry.guard_manager.check(variables)
assert not entry.guard_manager.check({"self": block, "x": x[:1]})
guards = fastest(lambda: entry.guard_manager.check(variables), calls=100)
print(f"eager call    {eager:8.1f} us")
print(f"cached call   {cached:8.1f} us   {cached / eager:.2f} times the eager one")
print(f"its guards    {guards:8.1f} us")

# The backward of a tape of a thousand nodes, alone and under compiled autograd.
leaf = torch.ones(4, requires_grad=True)


def chain(x):
    for _ in range(1000):
        x = x.sin()
    return x


def backward(run, runs):
    best = float("inf")
    for _ in range(runs):
        leaf.grad = None
        loss = chain(leaf).sum()
        start = time.perf_counter()
        run(loss)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def captured(loss):
    with compiled_autograd._enable(torch.compile(backend="aot_eager")):
        loss.backward()


start = time.perf_counter()
torch.compile(chain, backend="aot_eager")(leaf)
forward = (time.perf_counter() - start) * 1e3
eager = backward(lambda loss: loss.backward(), 20)
first = backward(captured, 1)
hit = backward(captured, 20)
print(f"first forward {forward:8.1f} ms")
print(f"its backward  {first:8.1f} ms   {first / forward:.2f} times as long, captured and compiled")
print(f"eagerly       {eager:8.1f} ms")
print(f"cache hit     {hit:8.1f} ms   {hit / eager:.2f} times the eager one")
