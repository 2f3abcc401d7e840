"""What a call of a compiled function costs once it is in the cache, next to the same call without `torch.compile`, and what its
guards cost alone. Ours: `cargo bench --no-default-features --features python --bench capture`; PyTorch's: `python benches/capture.py`.
"""

import time

import torch
from block import Block
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
