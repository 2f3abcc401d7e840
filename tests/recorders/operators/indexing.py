"""Makes indexing.json: `x[...]` and `x[...] = v` with the operator calls PyTorch makes of them, and the result.

A case is `[tensor, items, value or "get", calls, result]`, the tensor afterwards for
an assignment; an item is an integer, `{"slice": [start, stop, step]}`, null, "...", a boolean or a tensor.
"""

import json
import sys

import torch

from derivatives import Log
from operators import TENSORS, encode, f, i, result

CASES = []
TENSORS.clear()


def item(v):
    if isinstance(v, slice):
        return {"slice": [v.start, v.stop, v.step]}
    return "..." if v is Ellipsis else encode(v)


def one(x, index, value="get"):
    items = [item(v) for v in (index if isinstance(index, tuple) else (index,))]
    x = x.clone(memory_format=torch.preserve_format)
    record = [encode(x), items, encode(value)]
    log = Log()
    try:
        with log:
            if isinstance(value, str):
                answer = x[index]
            else:
                x[index] = value
                answer = x
        answer = result(answer)
    except Exception as e:  # noqa: BLE001
        answer = {"error": [type(e).__name__, str(e).split("\n")[0]]}
    CASES.append([*record, log.calls, answer])


x, v, z, idx = f(2, 3, 4), torch.tensor(5.0), torch.tensor(1), i(0, 1)
m, m2, m3, wide = torch.tensor([True, False]), f(2, 3) % 2 == 0, f(2, 3, 4) % 3 == 1, torch.tensor([[0, 1], [1, 0]])
s, full = slice, slice(None)
indices = [
    0, -1, 5, -3, full, s(1, None), s(None, None, 2), s(0, 2), s(-1, None), s(5, 9), s(2, 1), s(None, None, 0), s(None, None, -1), None, ..., True, False,
    (full, full), (full, s(1, 3)), (s(0, 2), s(0, 1)), (-1, ...), (..., 0), (None, full), (None, ..., None), (0, 1), (0, 1, 2), (0, 0, 0, 0), (full, 5), (True, 0), (0, True),
    (0, ..., ..., 0), (full, None, 1), (s(1, None), None, 0), (..., s(None, None, 3)), z, (z, idx), (full, z), idx, (full, idx), (idx, idx), (idx, full, idx), (full, idx, idx),
    m, m2, m3, (m, idx), (m, full, 1), (m2, 0), (m2, None), (None, m2), (m2, s(1, 3)), (m2, ...), (full, m2[0]), (0, m2[0]), (..., m), wide, (full, wide), (wide, 0), (0, idx),
    (idx, None), (idx, ..., 0), (None, idx), (full, None, m2[0]), (m, None), (m, ..., None), (m3, None), (idx.int(),), torch.tensor(True), (full, torch.tensor(False)), i(5), i(), f(1),
    (True, idx), (m2, True), (idx, i(0, 1, 2)), torch.ones(3, dtype=torch.bool), (idx, s(0, 2), s(0, 1)),
]
for index in indices:
    one(x, index)
    one(x, index, 2)
for index in (0, full, ..., idx, m, m2, m3, (full, idx), (idx, idx), (..., 0), None, (m2, 0)):
    one(x, index, v)
    one(x, index, 2.5)
    one(x, index, True)
    one(x, index, f(4) * 10)
    one(x, index, f(1, 1, 1) * 10)
    one(x.long(), index, 3.7)
one(x.permute(2, 0, 1), (1, full, 2))
one(x.permute(2, 0, 1), (1, full, 2), 9)
one(v, 0)
one(v, ...)
one(v, ())
one(v, None)
one(v, True)
one(v, (0, 0))
one(v, (), 3)
one(x, 0, f(3, 4).double() * 2)
one(x, 0, f(5))
one(x, idx, f(5))
one(x, idx, f(1, 1, 2, 3, 4))
one(x, idx, v.double())

if __name__ == "__main__":
    with open(sys.argv[1], "w") as out:
        lines = [",\n".join(json.dumps(c, separators=(",", ":")) for c in part) for part in (TENSORS, CASES)]
        out.write('{"tensors": [\n' + lines[0] + '\n], "cases": [\n' + lines[1] + "\n]}\n")
    print(len(CASES))
