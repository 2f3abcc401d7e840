"""Writes `crates/dispatch/src/float8.txt`: which operators PyTorch computes of floats of 8 bits on the CPU, and what it calls the kernels of
the others. Asked with the samples of PyTorch's own tests of operators: `python tests/recorders/float8.py`, with the torch that is recorded."""

import collections
import pathlib
import re
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

FILE = pathlib.Path(__file__).parents[2] / "crates" / "dispatch" / "src" / "float8.txt"
SAMPLES = 4


class Watch(TorchDispatchMode):
    """Notes what becomes of each call with such a tensor."""

    def __init__(self):
        super().__init__()
        self.found = collections.defaultdict(list)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        is_one = any(isinstance(t, torch.Tensor) and t.dtype is torch.float8_e4m3fn for t in tree_leaves((args, kwargs)))
        try:
            result = func(*args, **kwargs)
        except Exception as e:
            kernel = re.match(r'"([\w.]+)" not implemented for', str(e))
            if is_one and kernel:
                self.found[str(func)].append(kernel[1])
            raise
        if is_one:
            self.found[str(func)].append(None)
        return result


def narrow(t):
    return t.to(torch.float8_e4m3fn) if isinstance(t, torch.Tensor) and t.dtype is torch.float32 else t


def main():
    warnings.filterwarnings("ignore")
    watch = Watch()
    for op in op_db:
        try:
            samples = list(op.sample_inputs("cpu", torch.float32, requires_grad=False))[:SAMPLES]
        except Exception:
            continue
        for sample in samples:
            try:
                given, args, kwargs = tree_map(narrow, (sample.input, sample.args, sample.kwargs))
                with torch.no_grad(), watch:
                    op(given, *args, **kwargs)
            except Exception:
                pass
    scale = torch.tensor(0.5)
    with watch:
        torch._scaled_mm(torch.zeros(16, 16).to(torch.float8_e4m3fn), torch.zeros(16, 16).to(torch.float8_e4m3fn).t(), scale, scale)
    # What refuses some sample computes nothing: the others had no elements. A product is asked for its operands.
    lines = []
    for name, kernels in sorted(watch.found.items()):
        refused = next((k for k in kernels if k), None)
        lines.append(f"{name} {refused}" if refused and name != "aten.mul.Tensor" else name)
    FILE.write_text("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    main()
