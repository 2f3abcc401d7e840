"""Makes printing.json: tensors, print options, and what PyTorch prints."""

import json
import sys

import torch

from operators import encode, TENSORS

CASES = []
torch.manual_seed(3)


def one(x, **options):
    torch.set_printoptions(profile="default", sci_mode=None)
    if options:
        torch.set_printoptions(**options)
    leaf = x.detach()
    suffix = {}
    if x.grad_fn is not None:
        suffix["grad_fn"] = type(x.grad_fn).__name__
    elif x.requires_grad:
        suffix["requires_grad"] = True
    text = repr(x)
    torch.set_printoptions(profile="default", sci_mode=None)
    CASES.append([encode(leaf), options, suffix, text])


tensors = [
    torch.tensor(v)
    for v in [
        1.0, -0.0, 3, True, 1e-5, 12345.678, 1e9, float("nan"), float("inf"), 2 + 3j,
        [1.0, 2.0], [1.5, -2.25], [0.0, 0.0], [1e-5, 1.0], [1e-3, 1.0], [1e-4, 0.5], [99999.0, 1.0], [100000000.0], [100000001.0 * 2],
        [1.0, float("nan")], [0.5, float("inf"), -float("inf")], [float("nan")], [0.0, float("nan")], [1e20, 1.0, float("inf")],
        [1, -20, 300], [True, False], [1.0 + 1j, -2.5 - 0.25j], [1 + 0j], [0j, 1e-6 + 1e6j], [complex(float("nan"), 1)],
        [[1.0, 2.0], [3.0, 4.0]], [[1.0], [2.5]], [[True], [False]], [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
        [0.12345678, 0.00012], [1000.5, 1.5], [1001.5, 1.5], [1.0, 1000.0], [1.0, 1001.0], [1e-10], [123456789.0], [-1e-4, 1e-4], [-1.0, 10.0],
    ]
]
for x in tensors:
    one(x)
    one(x, precision=2)
    one(x, sci_mode=True)
    one(x, sci_mode=False)
for x in tensors[10:20]:
    for d in (torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.uint8):
        if not (d in (torch.int32, torch.uint8) and not torch.isfinite(x).all()):
            one(x.to(d) if d.is_floating_point else x.abs().clamp(max=100).to(d))
for shape in [(0,), (0, 3), (2, 0), (1, 0, 4)]:
    for d in (torch.float32, torch.int64, torch.bool, torch.float64):
        one(torch.zeros(shape, dtype=d))
for shape in [(3,), (20,), (7, 9), (30, 2), (3, 3, 3), (2, 2, 2, 2)]:
    x = torch.randint(-500, 500, shape).float() / 64
    one(x)
    one(x.double())
    one(x.half(), precision=3)
    one(x, linewidth=40)
    one(x, linewidth=5)
    one(x, threshold=10, edgeitems=2)
    one(x, threshold=5, edgeitems=1, precision=1)
    one(x, threshold=5, edgeitems=0)
    one(x, profile="short")
    one(x.long(), threshold=10)
    one(x > 0)
    one(torch.complex(x, x.flip(0)))
    one(torch.complex(x, x.flip(0)), threshold=10)
    if x.dim() > 1:
        one(x.transpose(0, 1))
        one(x[1:, ::2])
one(torch.arange(1001))
one(torch.arange(1000.0))
one(torch.arange(1002.0).reshape(3, 334))
one(torch.arange(2000).reshape(1000, 2))
one(torch.arange(1001), profile="full", linewidth=200)
for n in range(1, 16):
    leaf = torch.arange(float(n)).requires_grad_()
    one(leaf)
    one(leaf * 1.5)
    one((leaf * 1.5).sum())
    one((leaf * 0.5).double())
    one(leaf.reshape(n, 1).expand(n, 3) * 1.25)
one(torch.randint(0, 9, (5, 12)).float().requires_grad_().half().softmax(1))

if __name__ == "__main__":
    with open(sys.argv[1], "w") as out:
        lines = [",\n".join(json.dumps(x, separators=(",", ":")) for x in part) for part in (TENSORS, CASES)]
        out.write('{"tensors": [\n' + lines[0] + '\n], "cases": [\n' + lines[1] + "\n]}\n")
    print(len(CASES))
