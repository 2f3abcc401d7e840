"""Lists, dictionaries, tuples and dataclasses of varying lengths and sizes."""
import dataclasses
import torch

@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    weights: list
    meta: dict

@torch.compile
def f(b):
    y = b.x * b.meta["scale"]
    for w in b.weights:
        y = y + w
    return y.sum(0)

for n, k, s in ((2, 1, 1.0), (2, 2, 1.0), (3, 2, 2.0), (4, 3, 3.0)):
    print(f(Batch(torch.ones(n, 2), [torch.full((2,), float(i)) for i in range(k)], {"scale": s})))

@torch.compile
def g(items, opts):
    total = sum(t.sum() for t in items)
    return total * opts.get("k", 1) + len(opts)

print(g([torch.ones(2), torch.ones(3)], {}))
print(g((torch.ones(2), torch.ones(3)), {"k": 2}))
print(g([torch.ones(2), torch.ones(4)], {"k": 3}))
print(g([torch.ones(2), torch.ones(5), torch.ones(1)], {"k": 3, "z": 0}))
