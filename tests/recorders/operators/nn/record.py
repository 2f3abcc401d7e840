"""Records what PyTorch answers for single operators, for tests/library/nn_operators.rs.

usage: record.py CASES.py OUT.json

CASES.py calls `case(name, "aten.mm.default", *args, **kwargs)`. Recorded are the results, the gradients of the arguments that
require grad, and every operator call below autograd, forward and backward, with the layout of its results. The Python dispatcher
is on, as it is when AOTAutograd traces, so that composites take themselves apart as they do in graphs.
"""
import contextlib
import json
import sys

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.utils._python_dispatch import TorchDispatchMode

SHORT = {torch.float32: "f32", torch.float64: "f64", torch.int64: "i64", torch.int32: "i32", torch.bool: "b8",
         torch.float16: "f16", torch.bfloat16: "bf16", torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16"}
cases = []


def layout(value):
    if isinstance(value, torch.Tensor):
        return f"{SHORT[value.dtype]}{list(value.shape)}{list(value.stride())}"
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(layout(v) for v in value) + ")"
    return repr(value)


class Record(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        # Batch norm's empty reserve and the detached results that are saved belong to eager mode.
        reserve = func is torch.ops.aten.empty.memory_format and out.dtype == torch.uint8
        if func is not torch.ops.aten.detach.default and not reserve:
            self.calls.append(f"{func} {layout(out)}")
        return out


def number(x):
    if isinstance(x, bool) or isinstance(x, int):
        return x
    if x != x or x in (float("inf"), float("-inf")):
        return str(x)
    return float(f"{x:.7g}")


def encode(value):
    if isinstance(value, torch.Tensor):
        flat = value.detach().contiguous().reshape(-1).tolist()
        return {"tensor": SHORT[value.dtype], "size": list(value.shape), "stride": list(value.stride()),
                "data": [number(x) for x in flat], "grad": value.requires_grad}
    if isinstance(value, (list, tuple)):
        return [encode(v) for v in value]
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, torch.memory_format):
        return {"memory_format": str(value)}
    if isinstance(value, float):
        return {"float": number(value)}
    return value


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors(v)]
    return []


def case(name, op, *args, eager=False, **kwargs):
    dispatcher = contextlib.nullcontext if eager else enable_python_dispatcher
    namespace, packet, overload = op.split(".")
    function = getattr(getattr(getattr(torch.ops, namespace), packet), overload)
    torch.manual_seed(len(cases))
    record = {"name": name, "op": op, "args": encode(args), "kwargs": {k: encode(v) for k, v in kwargs.items()}}
    with dispatcher(), Record() as forward:
        out = function(*args, **kwargs)
    record |= {"out": encode(out), "forward": forward.calls}
    leaves = [t for t in tensors(args) + tensors(list(kwargs.values())) if t.requires_grad]
    outs = [t for t in tensors(out) if t.requires_grad]
    if leaves and outs:
        # Multiples of 1/64 are written down exactly: what is recorded is what is differentiated.
        spaced = lambda t: (torch.linspace(-64, 96, t.numel(), dtype=torch.float64).round() / 64).to(t.dtype).reshape(t.shape)
        tangents = [spaced(t) if t.numel() > 1 else torch.ones_like(t) for t in outs]
        with dispatcher(), Record() as backward:
            grads = torch.autograd.grad(outs, leaves, tangents, allow_unused=True)
        record |= {"tangents": encode(tangents), "grads": encode(grads), "backward": backward.calls}
    cases.append(record)


def d(*size, grad=True):
    return r(*size, grad=grad, dtype=torch.float64)


def r(*size, grad=True, dtype=torch.float32):
    """Random values with few digits."""
    return ((torch.randn(size, dtype=torch.float64) * 100).round() / 100).to(dtype).requires_grad_(grad)


def u(*size, grad=False):
    """Values between zero and one."""
    return ((torch.rand(size, dtype=torch.float64) * 98).round() / 100 + 0.01).float().requires_grad_(grad)


def ints(high, *size):
    return torch.randint(0, high, size)


if __name__ == "__main__":
    torch.manual_seed(7)
    exec(open(sys.argv[1]).read())
    with open(sys.argv[2], "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
