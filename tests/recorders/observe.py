"""What PyTorch does with one program: printed text, exception, graphs of every compilation, size conditions, recompilations.

Runs in a process of its own (`cases.forked`): its hooks in AOTAutograd, the partitioners and Dynamo stay."""

import contextlib
import importlib.util
import io
import os
import re
import runpy
import sys
import types
import warnings

# A compilation found in a cache would pass the hooks by.
os.environ["TORCHINDUCTOR_AUTOGRAD_CACHE"] = os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "0"
os.environ["OMP_NUM_THREADS"] = "1"

# Programs import these without using them: they need not be installed.
UNUSED = ["matplotlib", "matplotlib.pyplot", "torchvision", "torchvision.datasets", "torchvision.transforms", "einops"]


def prepare():
    """Imports what every child needs."""
    import torch
    import torch._dynamo.compiled_autograd
    import torch._inductor.compile_fx
    import torch._inductor.fx_passes.joint_graph as joint_graph

    torch.set_num_threads(1)
    # Traces Inductor's patterns once.
    with contextlib.suppress(Exception):
        joint_graph.lazy_init(torch.device("cpu"))


def readable(module):
    """A graph as printed."""
    return module.print_readable(print_output=False, include_stride=True, include_device=True)


def bare(text):
    """A printed graph without comments, blank lines, the lines of its classes, and indentation."""
    lines = [line.strip() for line in text.splitlines()]
    return "".join(line + "\n" for line in lines if line and not line.startswith(("#", "class ")))


def conditions(env):
    """What compiled code relies on where sizes are symbols: ranges and values, guards, symbols that others replaced."""
    if env is None or not env.var_to_range:
        return None
    bound = lambda b: "-" if b.is_infinite or "oo" in str(b) else str(b)
    lines = [f"symbol {s}: {bound(r.lower)} {bound(r.upper)} {env.backed_var_to_val.get(s, '-')}" for s, r in env.var_to_range.items()]
    lines += [f"guard {guard.expr}" for guard in env.guards]
    lines += [f"replaced {a}: {b}" for a, b in env.replacements.items()]
    return "".join(line + "\n" for line in lines)


class Observer:
    """The compilations of a program, in order, as a mapping from an item's kind to its text."""

    def __init__(self, partitions):
        self.compilations, self.current, self.recompiles, self.nested = [], None, [], 0
        self.partitions = partitions

    def install(self):
        import torch
        import torch._dynamo.guards as guards
        import torch._functorch._aot_autograd.graph_compile as graph_compile
        import torch._functorch.aot_autograd as aot_autograd
        import torch._inductor.compile_fx as compile_fx

        stage1, stage2 = graph_compile.aot_stage1_graph_capture, graph_compile.aot_stage2_compile
        saved_tensors = graph_compile._categorize_saved_tensors_for_backward
        passes = compile_fx.joint_graph_passes
        reasons = guards.get_and_maybe_log_recompilation_reasons

        def aot_stage1_graph_capture(state, *args, **options):
            captured = stage1(state, *args, **options)
            if not self.nested:
                kind = "joint" if state.needs_autograd else "inference"
                self.current = {kind: readable(captured.graph_module)}
                self.compilations.append(self.current)
            return captured

        def aot_stage2_compile(state, *args, **options):
            mine, conditions_of = self.current, state.fake_mode and state.fake_mode.shape_env
            if not self.nested and "inference" in mine:
                mine["conditions"] = conditions(conditions_of)
            try:
                return stage2(state, *args, **options)
            except BaseException:
                # What is traced and skipped on the way is no compilation.
                if not self.nested:
                    del self.compilations[self.compilations.index(mine) :]
                raise

        def categorize(forward, backward, inner_meta, metadata, inner_outputs, *args, **options):
            counts = saved_tensors(forward, backward, inner_meta, metadata, inner_outputs, *args, **options)
            if self.current is not None:
                outputs = next(iter(forward.graph.find_nodes(op="output"))).args[0]
                self.current["forward"], self.current["backward"] = readable(forward), readable(backward)
                self.current["saved"] = [getattr(n, "name", str(n)) for n in outputs[inner_outputs:]]
                context = torch._guards.TracingContext.try_get()
                self.current["conditions"] = conditions(context and context.fake_mode and context.fake_mode.shape_env)
                if self.partitions:
                    self.partitions.categorized(self.current, forward, backward, outputs[inner_outputs:], metadata)
            return counts

        def joint_graph_passes(*args, **options):
            # What patterns are traced to is not the program's.
            self.nested += 1
            try:
                return passes(*args, **options)
            finally:
                self.nested -= 1

        def recompilation_reasons(*args, **options):
            found = reasons(*args, **options)
            if found:
                self.recompiles.append([str(reason) for reason in found])
            return found

        for old, new in [
            (stage1, aot_stage1_graph_capture),
            (stage2, aot_stage2_compile),
            (saved_tensors, categorize),
            (passes, joint_graph_passes),
            (reasons, recompilation_reasons),
        ]:
            replace(old, new)


def replace(old, new):
    """`new` wherever a module of PyTorch's has `old` by its name."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("torch", "functorch")) and getattr(module, "__dict__", {}).get(old.__name__) is old:
            setattr(module, old.__name__, new)


def run_graphs_as_they_are():
    """Inductor runs a graph where it would write code."""
    import torch._inductor.compile_fx as compile_fx
    from torch._dynamo.backends.debugging import boxed_nop

    whole = compile_fx.compile_fx

    def inner(module, inputs, *args, **options):
        return boxed_nop(module, inputs)

    compile_fx.compile_fx = lambda module, inputs, inner_compile=None, **options: whole(module, inputs, inner_compile=inner, **options)


def redirect(backend):
    """`torch.compile` without a backend means `backend`; one that the program names is used."""
    import torch

    real = torch.compile

    def compile_(model=None, **options):
        if options.get("backend", "inductor") == "inductor" and not options.get("disable"):
            options["backend"] = backend
        return (lambda m: compile_(m, **options)) if model is None else real(model, **options)

    torch.compile = compile_


def without_place(text):
    """Where PyTorch lies is not part of what is recorded."""
    return re.sub(r'(File:? "?)\S*/site-packages/torch/\S*?(\w+\.py)', r"\1\2", text)


def clean(text, folder):
    """Nor is where the scripts lie."""
    return re.sub(r"\b1[34]\d{13}\b", "ID", without_place(text).replace(f"{folder}/", ""))


def reason(text):
    """A failed guard: its line without its source code, and with `ID` for addresses."""
    return re.sub(r"\d{9,}", "ID", re.split(r" +# ", text.splitlines()[0])[0].rstrip())


def observe(script, backend, recompiles, partitions):
    """The items of one run of `script`; with `partitions`, also what tests of partitions read, under `compilations`."""
    import torch

    absent = [name for name in UNUSED if importlib.util.find_spec(name.split(".")[0]) is None]
    for name in absent:
        sys.modules[name] = types.ModuleType(name)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, sys.modules[name])
    torch.set_num_threads(1)
    recorded = None
    if partitions:
        from . import partitions as of_partitions

        recorded = of_partitions.Partitions()
    observer = Observer(recorded)
    if backend:
        observer.install()
        redirect(backend)
        if recorded:
            recorded.install(observer)
        if backend == "inductor":
            run_graphs_as_they_are()
    os.chdir(script.parent)
    sys.argv = [script.name]
    sys.path[:1] = [str(script.parent), str(script.with_suffix(".modules"))]
    out, exception = io.StringIO(), None
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        if not backend:
            warnings.simplefilter("ignore")
        try:
            runpy.run_path(script.name, run_name="__main__")
        except SystemExit:
            pass
        except Exception as e:
            exception = type(e).__name__
    items = {"stdout": clean(out.getvalue(), script.parent)}
    if exception:
        items["exception"] = exception + "\n"
    if not backend:
        return items
    items["count"] = f"{len(observer.compilations)}\n"
    for number, made in enumerate(observer.compilations):
        for kind in ("joint", "inference", "forward", "backward"):
            if kind in made:
                items[f"{kind} {number}"] = bare(made[kind])
        if made.get("conditions"):
            items[f"conditions {number}"] = made["conditions"]
        if recorded and "saved" in made:
            items[f"saved {number}"] = "".join(f"{name}\n" for name in made["saved"])
            cut = made.get("partition", {}).get("cut")
            if cut:
                items[f"cut {number}"] = f"{cut['value']}\n"
    if recompiles:
        items["recompiles"] = "\n".join("".join(f"{reason(r)}\n" for r in group) for group in observer.recompiles)
    if recorded:
        items["compilations"] = recorded.written(observer.compilations, script.stem, backend, items)
    return items
