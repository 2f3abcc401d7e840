"""Higher-order operators as the code of a graph calls them: with graphs in place of functions, and flat values."""

import torch
from torch import _native_compile
from torch._higher_order_ops._node import as_one_node
from torch._higher_order_ops.map import map as _map
from torch._higher_order_ops.scan import scan as _scan
from torch._higher_order_ops.while_loop import while_loop as _while_loop


def cond(pred, true_graph, false_graph, operands=()):
    """One of two graphs, chosen by a value."""
    if _native_compile._is_capturing() or _native_compile._is_in_trace():
        return torch.cond(pred, true_graph, false_graph, tuple(operands))
    return as_one_node("CondAutogradOp", (true_graph if pred else false_graph)(*operands))


def while_loop(cond_graph, body_graph, carried, additional=()):
    """A graph applied to what it gave, as long as another one says so."""

    def decides(*values):
        out = cond_graph(*values, *additional)
        return out[0] if isinstance(out, tuple) else out

    return _while_loop(decides, lambda *values: body_graph(*values, *additional), tuple(carried))


def scan(combine_graph, init, xs, additional=()):
    """The last carry and the rows of results."""
    count = len(init)

    def combine(carry, row):
        out = combine_graph(*carry, *row, *additional)
        return list(out[:count]), list(out[count:])

    carry, rows = _scan(combine, list(init), list(xs))
    return (*carry, *rows)


def map_impl(body_graph, xs, args=()):
    """The results of the rows, in rows."""
    return tuple(_map(lambda row: body_graph(*row, *args), list(xs)))


CALLS = {"cond": cond, "while_loop": while_loop, "scan": scan, "map_impl": map_impl}
