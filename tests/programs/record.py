#!/usr/bin/env python3
"""What PyTorch prints and compiles for the programs of this folder, or of another: writes `expected.json`.

    python tests/programs/record.py [--folder tests/capture] [NAME ...]      (with PyTorch 2.15; all programs where none is named)

For each program and backend: standard output, the exception that ended it, and per compilation a hash of every graph's text
without comments, blanks and class lines, in the order joint or inference (as it is traced, before floats become tensors), forward, backward; where sizes are symbols, also what
the compiled code relies on (`conditions`): each symbol's range and value, the guards, and the symbols that were replaced. Packages that a program imports
without using them need not be installed; tqdm has to be. Inductor's graphs are run as they are; what is printed of its random numbers,
which are others than in eager mode by design, is not recorded. Under it the programs of this folder are recorded, of other folders not."""

import concurrent.futures
import contextlib
import importlib.util
import io
import json
import os
import runpy
import subprocess
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
BACKENDS = ["aot_eager", "aot_eager_default_partitioner", "inductor"]


UNUSED = ["matplotlib", "matplotlib.pyplot", "torchvision", "torchvision.datasets", "torchvision.transforms", "einops"]


def fnv(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def body(readable):
    lines = [line.strip() for line in readable.splitlines()]
    return "\n".join(line for line in lines if line and not line.startswith(("#", "class ")))


def stop_before_code(graph_compile, traced, add):
    """Has Inductor run graphs as they are where it would write code; `add` is told each, with forward and backward where it was split."""
    import torch._inductor.compile_fx as compile_fx
    from torch._dynamo.backends.debugging import boxed_nop

    whole, passes = compile_fx.compile_fx, compile_fx.joint_graph_passes
    saved = graph_compile._categorize_saved_tensors_for_backward

    def inner(module, inputs, *args, is_inference=False, **options):
        if is_inference:
            add(module, None, None)
        return boxed_nop(module, inputs)

    def split(forward, backward, *args, **options):
        add(forward, forward, backward)
        return saved(forward, backward, *args, **options)

    def joint_graph_passes(*args, **options):
        # What patterns are traced to is not the script's.
        before = list(traced)
        made = passes(*args, **options)
        traced[:] = before
        return made

    compile_fx.compile_fx = lambda module, inputs, inner_compile=None, **options: whole(module, inputs, inner_compile=inner, **options)
    compile_fx.joint_graph_passes = joint_graph_passes
    graph_compile._categorize_saved_tensors_for_backward = split


def record(path, default):
    """Runs one program in this process; `default` is the backend where the script names none."""
    import torch
    import torch._functorch._aot_autograd.graph_compile as graph_compile
    from functorch.compile import default_partition, min_cut_rematerialization_partition
    from torch._dynamo.backends.common import aot_autograd

    absent = {name for name in UNUSED if importlib.util.find_spec(name.split(".")[0]) is None}
    for name in sorted(absent):
        sys.modules[name] = types.ModuleType(name)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, sys.modules[name])
    torch.set_num_threads(1)
    graphs, conditions = [], []

    def add(*texts):
        graphs.append(list(texts))
        context = torch._guards.TracingContext.try_get()
        env = context.fake_mode.shape_env if context and context.fake_mode else None
        if env is None or not env.var_to_range:
            conditions.append(None)
            return
        bound = lambda b: None if b.is_infinite or "oo" in str(b) else float(b) if "." in str(b) else int(b)
        symbols = {str(s): [bound(r.lower), bound(r.upper), str(env.backed_var_to_val.get(s))] for s, r in env.var_to_range.items()}
        guards = [str(g.expr) for g in env.guards]
        conditions.append([symbols, guards, {str(a): str(b) for a, b in env.replacements.items()}])

    def readable(module):
        return module and fnv(body(module.print_readable(print_output=False, include_stride=True, include_device=True)))

    # What is traced and given up on the way is not recorded.
    capture, traced = graph_compile.aot_stage1_graph_capture, []

    def aot_stage1_graph_capture(*args, **options):
        captured = capture(*args, **options)
        traced[:] = [readable(captured.graph_module)]
        return captured

    graph_compile.aot_stage1_graph_capture = aot_stage1_graph_capture
    torch._functorch.aot_autograd.aot_stage1_graph_capture = aot_stage1_graph_capture

    def as_traced(module):
        return traced.pop() if traced else readable(module)

    def compiler(slot):
        def compile_graph(module, inputs):
            if slot == "inference":
                add(as_traced(module), None, None)
            from torch._dynamo.backends.debugging import boxed_nop

            return boxed_nop(module, inputs)

        return compile_graph

    def named(split):
        def partition(joint, inputs, **options):
            whole = as_traced(joint)
            forward, backward = split(joint, inputs, **options)
            add(whole, readable(forward), readable(backward))
            return forward, backward

        return aot_autograd(
            fw_compiler=compiler("forward"),
            bw_compiler=compiler("backward"),
            inference_compiler=compiler("inference"),
            partition_fn=partition,
            keep_inference_input_mutations=True,
        )

    named = dict(zip(BACKENDS, map(named, (min_cut_rematerialization_partition, default_partition))))
    if default == "inductor":
        stop_before_code(graph_compile, traced, lambda module, *parts: add(as_traced(module), *map(readable, parts)))
    real = torch.compile

    def compile_(model=None, *, backend="inductor", **options):
        # A backend that the script names is used.
        chosen = named.get(default if backend == "inductor" else backend, backend) if isinstance(backend, str) else backend
        return (lambda m: compile_(m, backend=backend, **options)) if model is None else real(model, backend=chosen, **options)

    torch.compile = compile_
    out, exception = io.StringIO(), None
    sys.argv = [path]
    with contextlib.redirect_stdout(out):
        try:
            runpy.run_path(path, run_name="__main__")
        except Exception as e:
            exception = type(e).__name__
    recorded = {"stdout": out.getvalue(), "exception": exception, "graphs": graphs}
    return recorded | {"conditions": conditions} if any(conditions) else recorded


def main():
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(record(sys.argv[2], sys.argv[3])))
        return
    folder = HERE
    if sys.argv[1:2] == ["--folder"]:
        folder = sys.argv[2]
        del sys.argv[1:3]
    file = os.path.join(folder, "expected.json")
    expected = json.load(open(file)) if os.path.exists(file) else {}
    names = sys.argv[1:] or sorted(f[:-3] for f in os.listdir(folder) if f.endswith(".py") and f != "record.py")

    def one(name, backend):
        command = [sys.executable, __file__, "--one", os.path.join(folder, name + ".py"), backend]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return json.loads(done.stdout.splitlines()[-1])

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name in names:
            # A program that names its backend is the same under every other.
            with open(os.path.join(folder, name + ".py")) as f:
                backends = BACKENDS[:1] if 'backend="aot_eager"' in f.read() else BACKENDS[: 3 if folder == HERE else 2]
            recorded = dict(zip(backends, pool.map(one, [name] * len(backends), backends)))
            for other in backends[2:]:
                if recorded[other]["stdout"] != recorded[BACKENDS[0]]["stdout"]:
                    recorded[other]["stdout"] = None
            expected[name] = {backend: made for backend, made in recorded.items() if backend in BACKENDS[:2] or made["graphs"]}
            print(name, expected[name][BACKENDS[0]]["exception"] or "", flush=True)
    with open(file, "w") as f:
        json.dump(dict(sorted(expected.items())), f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
