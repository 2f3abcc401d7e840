"""What a compiled function says of a tensor given as `out=` whose dtype does not fit: PyTorch's rules for fake tensors check it."""

import torch

a = torch.tensor([[1.5, 0.25], [0.5, 2.0]])
i = torch.tensor([[1, 2], [3, 1]])

CALLS = {
    "add": lambda o: torch.add(a, 1, out=o),
    "neg": lambda o: torch.neg(i, out=o),
    "mul of integers": lambda o: torch.mul(i, i, out=o),
    "floor": lambda o: torch.floor(a, out=o),
    "mm": lambda o: torch.mm(a, a, out=o),
    "cat": lambda o: torch.cat([a, a], out=o),
    "mean": lambda o: torch.mean(a, 1, out=o),
    "sum": lambda o: torch.sum(a, 1, out=o),
    "gather": lambda o: torch.gather(a, 1, i - 1 - (i > 2).long(), out=o),
    "amax": lambda o: torch.amax(a, 1, out=o),
    "any": lambda o: torch.any(a, 1, out=o),
    "index_select": lambda o: torch.index_select(a, 0, torch.tensor([0, 1]), out=o),
}
SHAPES = {"cat": (4, 2), "mean": (2,), "sum": (2,), "amax": (2,), "any": (2,)}

for name, call in CALLS.items():
    for dtype in (torch.float32, torch.float64, torch.int64, torch.bool):
        out = torch.ones(SHAPES.get(name, (2, 2)), dtype=dtype)
        torch._dynamo.reset()
        try:
            torch.compile(call, backend="aot_eager")(out)
            print(name, dtype, out.tolist())
        except Exception as error:
            lines = [line.strip() for line in str(error).splitlines() if "got " in line or "Expected" in line]
            said = lines[0].partition("**{")[2] or lines[0] if lines else str(error)
            print(name, dtype, type(error).__name__, said, out.tolist())
