"""What tools for graphs have in common: names of targets, orders of nodes."""

import heapq
import operator
from collections import deque

import torch
from torch.fx.graph import Graph
from torch.fx.node import qualified_name

__all__ = ["get_acc_ops_name", "get_node_target", "is_node_output_tensor", "legalize_graph", "stable_topological_sort"]

CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_acc_ops_name(k):
    """The name of an operator of an accelerator."""
    if isinstance(k, str):
        return k
    if k.__module__ and "acc_ops" in k.__module__:
        return f"acc_ops.{k.__name__}"
    module = k.__module__.replace("torch._ops", "torch.ops")
    return f"{module if module else ''}.{k.__name__}"


def _path(function):
    """A function by its dotted name, operators of Python's under the module that has them."""
    return f"_operator.{function.__name__}" if function.__module__ == "_operator" else qualified_name(function)


def get_node_target(submodules, node):
    """What a node calls: the type of its module, the path of its function, or the name of its method."""
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError("Expect op types of " + ", ".join(CALLABLE_NODE_OPS) + f", but found {node.op}")
    if node.op == "call_module":
        module = submodules[node.target]
        return get_acc_ops_name(getattr(module, "_base_class_origin", type(module)))
    if node.op == "call_function":
        name = _path(node.target)
        return f"acc_ops.{node.target.__name__}" if "acc_ops" in name else name
    return node.target


def is_node_output_tensor(node):
    """Whether a node gives a tensor, as `ShapeProp` found."""
    kind = node.meta.get("type")
    return kind is not None and issubclass(kind, torch.Tensor)


def _readers(graph):
    waits = dict.fromkeys(graph.nodes, 0)
    for node in graph.nodes:
        for user in node.users:
            waits[user] += 1
    return waits


def _sorted(gm, made, new_graph):
    if len(made) < len(list(gm.graph.nodes)):
        raise RuntimeError(f"Input graph has cycles, unable to add {[node for node in gm.graph.nodes if node not in made]}")
    new_graph._codegen = gm.graph._codegen
    gm.graph = new_graph
    return gm


# What asserts are made of goes ahead of what they guard.
_FIRST = {"add", "mul", "sub", "floordiv", "truediv", "mod", "le", "lt", "ge", "gt", "eq", "ne"}
_FIRST_OPERATORS = {
    "aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default", "aten._assert_async.msg", "aten.scalar_tensor.default",
    "aten._assert_scalar.default",
}  # fmt: skip


def _goes_first(node):
    name = getattr(node.target, "__name__", "")
    return node.op == "call_function" and (name in _FIRST and node.target is getattr(operator, name) or str(node.target) in _FIRST_OPERATORS)


def legalize_graph(gm):
    """Puts the nodes of a module's graph into an order in which every node comes behind those that it reads."""
    waits, new_graph, made = _readers(gm.graph), Graph(), {}
    queue = deque(node for node in gm.graph.nodes if waits[node] == 0)
    while queue:
        node = queue.popleft()
        made[node] = new_graph.node_copy(node, lambda used: made[used])
        for user in node.users:
            waits[user] -= 1
            if waits[user] == 0:
                (queue.appendleft if _goes_first(user) else queue.append)(user)
    return _sorted(gm, made, new_graph)


def stable_topological_sort(gm):
    """The same, nodes staying in their order as far as they can."""
    waits, new_graph, made = _readers(gm.graph), Graph(), {}
    order = {node: i for i, node in enumerate(gm.graph.nodes)}
    ready = [(order[node], node) for node in gm.graph.nodes if waits[node] == 0]
    heapq.heapify(ready)
    while ready:
        _, node = heapq.heappop(ready)
        made[node] = new_graph.node_copy(node, lambda used: made[used])
        for user in node.users:
            waits[user] -= 1
            if waits[user] == 0:
                heapq.heappush(ready, (order[user], user))
    return _sorted(gm, made, new_graph)
