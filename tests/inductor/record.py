"""The graphs that PyTorch's compiler front half makes of the scripts of this folder for its default backend.

    python tests/inductor/record.py > tests/inductor/recorded.json

with a Python that has PyTorch 2.15. Joint and inference graphs are those before Inductor's passes, forwards and backwards those after.
"""

import contextlib
import io
import json
import os
import pathlib
import sys

os.environ["TORCHINDUCTOR_AUTOGRAD_CACHE"] = "0"
import torch
import torch._functorch._aot_autograd.graph_compile as graph_compile
import torch._functorch.aot_autograd as aot_autograd
import torch._inductor.compile_fx as compile_fx
from torch._dynamo.backends.debugging import boxed_nop

HERE = pathlib.Path(__file__).parent
TRACED, PARTS, DEPTH = [], [], [0]


def text(module):
    readable = module.print_readable(print_output=False, include_stride=True, include_device=True)
    lines = [line.strip() for line in readable.splitlines()]
    return [line for line in lines if line and not line.startswith(("#", "class "))]


def trace(state, function, *args, **options):
    made = stage1(state, function, *args, **options)
    # What patterns are traced to is not the script's.
    if not DEPTH[0]:
        TRACED.append(text(made.graph_module))
    return made


def passes(*args, **options):
    DEPTH[0] += 1
    try:
        return joint_graph_passes(*args, **options)
    finally:
        DEPTH[0] -= 1


def inner(module, inputs, *args, is_backward=False, is_inference=False, **options):
    if not is_inference:
        if is_backward:
            PARTS[-1].append(text(module))
        else:
            PARTS.append([text(module)])
    return boxed_nop(module, inputs)


stage1, joint_graph_passes, real = graph_compile.aot_stage1_graph_capture, compile_fx.joint_graph_passes, compile_fx.compile_fx
graph_compile.aot_stage1_graph_capture = aot_autograd.aot_stage1_graph_capture = trace
compile_fx.joint_graph_passes = passes
compile_fx.compile_fx = lambda module, inputs, inner_compile=None, **options: real(module, inputs, inner_compile=inner, **options)


def record(path):
    del TRACED[:], PARTS[:]
    torch._dynamo.reset()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(path.read_text(), "script.py", "exec"), {"__name__": "__main__"})
    return {"name": path.stem, "stdout": out.getvalue(), "graphs": list(TRACED), "parts": [list(p) for p in PARTS]}


scripts = sorted(path for path in HERE.glob("*.py") if path.name != "record.py")
sys.stdout.write("[\n" + ",\n".join(json.dumps(record(path)) for path in scripts) + "\n]\n")
