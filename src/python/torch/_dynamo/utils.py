"""Counters of Dynamo."""

from collections import Counter, defaultdict

counters = defaultdict(Counter)


def _count(group, key, amount=1):
    counters[group][key] += amount


def compile_times(repr="str", aggregate=False):
    """How long backends took, graph by graph or in all: as text, or as names and values of a table (`repr="csv"`)."""
    from torch import _native_compile

    times = _native_compile._compile_times()
    times = [sum(times)] if aggregate else times
    name = "OutputGraph.call_user_compiler"
    if repr == "str":
        return "TorchDynamo compilation metrics:\nFunction, Runtimes (s)\n" + ", ".join([name, *(f"{t:.4f}" for t in times)])
    return ([name], [", ".join(f"{t:.6f}" for t in times)]) if repr == "csv" else None
