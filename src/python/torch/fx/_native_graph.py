"""A graph of the compiler's as a `torch.fx.Graph`."""

import builtins
import math
import operator

import torch
from torch._ops import HigherOrderOperator, higher_order
from torch.fx.graph import Graph

_OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul"}
_OPERATORS |= {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "&": "and_", "|": "or_", "^": "xor"}
_OPERATORS |= {"<<": "lshift", ">>": "rshift", "~": "invert", "[]": "getitem", "[]=": "setitem"}
# Dynamo's wrappers of numpy's functions, as code calls them.
_OF_NUMPY = "torch__dynamo_utils_wrapped_"
_ROOTS = {"torch": torch, "operator": operator, "math": math, "builtins": builtins}


def _named(path):
    """The function of a dotted name."""
    if path.startswith(_OF_NUMPY):
        from torch._numpy import wrapper

        return wrapper(path.removeprefix(_OF_NUMPY))
    root, *rest = path.split(".")
    found = _ROOTS[root] if root in _ROOTS else getattr(builtins, root)
    for name in rest:
        found = getattr(found, name, None)
    return _Absent(path) if found is None else found


class _Absent:
    """A function that a graph names and the playground does not have by that name."""

    def __init__(self, path):
        self.__module__, _, self.__name__ = path.rpartition(".")

    def __repr__(self):
        return f"<function {self.__name__}>"

    def __call__(self, *args, **kwargs):
        raise NotImplementedError(f"calling {self.__module__}.{self.__name__} from Python is not available in the playground")


def _operator(symbol):
    if symbol.endswith("=") and symbol[:-1] in _OPERATORS and symbol not in _OPERATORS:
        return getattr(operator, "i" + _OPERATORS[symbol[:-1]].rstrip("_"))
    name = _OPERATORS.get(symbol, symbol).removeprefix("math_")
    # Numbers have functions of other modules, too.
    return next(getattr(root, name) for root in (operator, math, builtins, torch) if hasattr(root, name))


def python_graph(native, functions=()):
    """The graph, and the constants and subgraphs it names. `functions`: what stands behind names that are no paths."""
    from torch.fx.graph_module import of_native
    from torch.fx.passes.shape_prop import _extract_tensor_metadata
    from torch.fx.traceback import annotation_shown_as

    graph = Graph()

    def named(path):
        return functions[path] if path in functions else _named(path)

    found = {"function": named, "operator": _operator, "higher_order": higher_order}

    def make(op, name, kind, target, args, kwargs, type_name, meta):
        if kind in found:
            target = found[kind](target)
        typed = {"": None, "Parameter": torch.nn.Parameter, "Tensor": torch.Tensor, "SymInt": torch.SymInt}[type_name]
        node = graph.create_node(op, target, args, kwargs, name, typed)
        node.name = name
        if "recompute" in meta:
            from torch.utils.checkpoint import CheckpointPolicy

            meta["recompute"] = CheckpointPolicy[meta["recompute"]]
        if "partitioner_tag" in meta and (op == "output" or op == "placeholder" and target.startswith("tangents")):
            meta["partitioner_tag"] = "is_backward"
            if op == "output":
                del meta["partitioner_tag"]
        if isinstance(meta.get("val"), torch.Tensor):
            meta["tensor_meta"] = _extract_tensor_metadata(meta["val"])
        if "first_name" in meta:
            meta["source_fn_stack"] = [(meta.pop("first_name"), target)]
        if "source_fns" in meta:
            key = "fwd_source_fn_stack" if meta.get("autograd_backward") else "source_fn_stack"
            meta[key] = [(name, found[kind](of) if kind in found else of) for name, kind, of in meta.pop("source_fns")]
        if "custom" in meta:
            meta["custom"] = annotation_shown_as(meta["custom"])
        node._written = meta.pop("written", None)
        node._from_node = meta.pop("from_node", None)
        node.meta.update(meta)
        return node

    constants = native.nodes(make)
    graph._marks = _marks(graph)
    return graph, {name: of_native(value) if hasattr(value, "print_readable") else value for name, value in constants.items()}


def call_kind(op, target):
    """How a call's target is told to the compiler."""
    if op in ("call_method", "call_module"):
        raise TypeError(f"{op} {target} in a graph of operators: the compiler takes calls of operators")
    if isinstance(target, (torch._ops.OpOverload, str)):
        return "object", target
    if isinstance(target, torch._ops.OpOverloadPacket):
        return "object", target.default
    if isinstance(target, HigherOrderOperator):
        return "higher_order", target.__name__
    if target is operator.getitem:
        return "getitem", ""
    if isinstance(target, torch._ops._Reader):
        return "named", f"aten.{target.__name__}"
    if target is torch._C._set_grad_enabled:
        return "grad_mode", ""
    if getattr(operator, getattr(target, "__name__", ""), None) is target or getattr(target, "__name__", "").startswith("sym_"):
        return "operator", target.__name__
    raise TypeError(f"{target} in a graph of operators: the compiler takes calls of operators")


def _node(node):
    return node, node.op, node.name, *call_kind(node.op, node.target), list(node.args), dict(node.kwargs), dict(node.meta)


def _marks(graph):
    """What partitioners read of nodes that is no part of a call."""
    return [tuple(node.meta.get(key) for key in ("recompute", "partitioner_tag", "ac_graph_id", "autograd_backward")) for node in graph.nodes]


def told(module):
    """A graph as the compiler takes it back: what it was made from, its nodes and the constants and subgraphs that they name. None
    where nobody has edited it; where only what partitioners read of nodes was changed, what it was made from and that. A graph of no
    module has no constants."""
    if isinstance(module, Graph):
        graph, module = module, module.owning_module
        if module is None:
            return None, [_node(node) for node in graph.nodes], {}
    if not hasattr(module, "_native"):
        raise TypeError(f"expected a GraphModule, got {type(module.graph)}")
    native, graph = module._native, module.__dict__["_graph"]
    if native is not None and (graph is None or graph._version == module.__dict__["_built"]):
        if graph is None or graph._marks == _marks(graph):
            return None
        return native, [(node.name, node.meta) for node in graph.nodes if node.op in ("call_function", "get_attr")]
    nodes, attributes = [], {}
    for node in graph.nodes:
        nodes.append(_node(node))
        if node.op == "get_attr":
            value = module
            for atom in node.target.split("."):
                value = getattr(value, atom)
            attributes[node.target] = value
    return native or module.__dict__.get("_made_from"), nodes, attributes
