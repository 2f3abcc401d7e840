"""`torch._dynamo.explain`: graphs, what ended them, and what they are guarded on."""

import warnings

from torch import _native_compile
from torch._dynamo.eval_frame import _Call, innermost_fn, reset
from torch._dynamo.utils import compile_times
from torch._guards import Guard


class GraphCompileReason:
    """Why a graph ended."""

    def __init__(self, reason, user_stack):
        self.reason, self.user_stack, self.graph_break = reason, user_stack, True

    def __repr__(self):
        return f"GraphCompileReason(reason={self.reason!r}, user_stack={self.user_stack!r}, graph_break=True)"


class _Place:
    """A line of the script, as `traceback.FrameSummary` shows it."""

    def __init__(self, filename, lineno, name, line):
        self.filename, self.lineno, self.name, self.line = filename, lineno, name, line

    def __repr__(self):
        return f"<FrameSummary file {self.filename}, line {self.lineno} in {self.name}>"


class ExplainOutput:
    """What `explain` found."""

    def __init__(self, graphs, break_reasons, out_guards, compile_times):
        self.graphs, self.graph_count = graphs, len(graphs)
        self.graph_break_count = self.graph_count - 1
        self.break_reasons = break_reasons
        self.ops_per_graph = [[n.target for n in gm.graph.nodes if n.op == "call_function"] for gm in graphs]
        self.op_count = sum(map(len, self.ops_per_graph))
        self.out_guards, self.compile_times = out_guards, compile_times

    def __str__(self):
        output = f"Graph Count: {self.graph_count}\nGraph Break Count: {self.graph_break_count}\nOp Count: {self.op_count}\n"
        output += "Break Reasons:\n"
        for i, reason in enumerate(self.break_reasons):
            output += f"  Break Reason {i + 1}:\n    Reason: {reason.reason}\n    User Stack:\n"
            for place in reason.user_stack:
                output += f"      {place}\n"
        output += "Ops per Graph:\n"
        for i, ops in enumerate(self.ops_per_graph):
            output += f"  Ops {i + 1}:\n"
            for op in ops:
                output += f"    {op}\n"
        output += "Out Guards:\n"
        for i, guard in enumerate(self.out_guards):
            output += f"  Guard {i + 1}:\n    {guard}"
        return output + f"Compile Times: {self.compile_times}\n"

    __repr__ = object.__repr__


def explain(f, *extra_args, **extra_kwargs):
    """Compiles a function afresh for some arguments and says where capture stopped."""
    inner = innermost_fn(f)
    inner = getattr(inner, "_orig_mod", inner)

    def run(*args, **kwargs):
        reset()
        graphs, breaks = [], []

        def accumulate(gm, example_inputs):
            graphs.append(gm)
            if _native_compile._ends_in_break():
                breaks.append(_native_compile._breaks()[-1])
            return gm.forward

        _native_compile._keep_guards(True)
        try:
            _Call(inner, accumulate, False, None)(args, kwargs)
        finally:
            guards = [Guard(*told) for told in _native_compile._keep_guards(False)]
        times = compile_times(repr="str")
        reset()
        return ExplainOutput(graphs, [GraphCompileReason(reason, [_Place(*place)] if place else []) for reason, place in breaks], guards, times)

    if not (extra_args or extra_kwargs):
        return run
    warnings.warn(
        "explain(f, *args, **kwargs) is deprecated, use explain(f)(*args, **kwargs) instead.  If you don't migrate, we may break your "
        "explain call in the future if your user defined kwargs conflict with future kwargs added to explain(f).",
        FutureWarning,
        stacklevel=2,
    )
    return run(*extra_args, **extra_kwargs)
