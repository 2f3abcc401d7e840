"""`make_fx`: the operators that a function calls, as a graph."""

import functools
import inspect
import sys

import torch
from torch import _native_aot
from torch._arguments import unobeyed
from torch.fx.graph import _PyTreeCodeGen
from torch.fx.graph_module import GraphModule
from torch.fx.traceback import has_preserved_node_meta, kept_annotations
from torch.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["make_fx"]


def _argument_names(f, count):
    """What a function calls its arguments; counted where it does not say."""
    code = getattr(inspect.unwrap(f), "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARARGS:
        return [f"arg{i}" for i in range(count)]
    return list(code.co_varnames[1 if inspect.ismethod(f) else 0 :][:count])


def _with_names_of_constants(graph, constants):
    """Gives parameters the names that PyTorch gives them, apart from those of other constants; constants by their new names."""
    counts, renamed, placed = {"param": 0, "tensor": 0}, {}, {}
    for node in graph.nodes:
        if node.op != "get_attr" or isinstance(constants.get(node.target), (torch.nn.Module, type(None))):
            continue
        if node.target not in renamed:
            value = constants[node.target]
            kind = "param" if isinstance(value, torch.nn.Parameter) else "tensor"
            renamed[node.target] = f"_{kind}_constant{counts[kind]}"
            counts[kind] += 1
            placed[renamed[node.target]] = value
        old = node.target
        node.target = renamed[old]
        node.name = node.name.replace(old, renamed[old], 1)
    return {**{name: value for name, value in constants.items() if name not in renamed}, **placed}


def _trace(f, args, table, mode, pre_dispatch):
    flat, spec = tree_flatten(args)
    children = [tree_flatten(arg)[0] for arg in args]
    arguments = _argument_names(f, len(args))
    names = [f"{name}_{i + 1}" for name, leaves in zip(arguments, children) for i in range(len(leaves))]
    out = {}

    def flat_function(values):
        with kept_annotations(has_preserved_node_meta()):
            leaves, out["spec"] = tree_flatten(f(*tree_unflatten(values, spec)))
        return leaves

    name = type(f).__name__ if isinstance(f, torch.nn.Module) else getattr(f, "__name__", type(f).__name__)
    rules = None if table is None else dict(table)
    native, symbols = _native_aot._make_fx(flat_function, names, flat, name, mode, rules, pre_dispatch)
    from torch.fx._native_graph import python_graph
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    graph, constants = python_graph(native)
    for node, leaf in zip(graph.find_nodes(op="placeholder"), flat):
        node.meta.setdefault("val", leaf)
    if not has_preserved_node_meta():
        for node in graph.nodes:
            node.meta.pop("seq_nr", None)
            node.meta.pop("original_aten", None)
    constants = _with_names_of_constants(graph, constants)
    last = graph.output_node()
    in_trees = any(type(arg) in (tuple, list, dict) or len(leaves) != 1 or leaves[0] is not arg for arg, leaves in zip(args, children))
    if in_trees:
        graph.set_codegen(_PyTreeCodeGen(arguments, names, spec, out["spec"]))
        last.args = (list(last.args[0]),)
    else:
        last.args = (tree_unflatten(list(last.args[0]), out["spec"]),)
    module = GraphModule(constants, graph, name)
    module._in_spec, module._out_spec = spec, out["spec"]
    module.shape_env = ShapeEnv._of(symbols) if mode == "symbolic" else None
    return module


def make_fx(
    f,
    decomposition_table=None,
    tracing_mode="real",
    _allow_non_fake_inputs=False,
    *,
    pre_dispatch=False,
    record_module_stack=False,
    _allow_fake_constant=False,
    _error_on_data_dependent_ops=True,
    record_stack_traces=False,
    proxy_module_inputs=False,
    _disable_torch_fn_metadata_mode=False,
):
    """A function that runs `f` on its arguments and gives the graph of what it called."""
    unobeyed("make_fx", _allow_fake_constant=(_allow_fake_constant, False), proxy_module_inputs=(proxy_module_inputs, False))
    unobeyed("make_fx", _error_on_data_dependent_ops=(_error_on_data_dependent_ops, True))
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"unexpected tracing_mode: {tracing_mode}")
    if pre_dispatch and decomposition_table:
        raise NotImplementedError("make_fx(pre_dispatch=True) with a decomposition_table is not available in the playground")
    decompositions = sys.modules.get("torch._decomp")
    if decompositions is not None and decomposition_table is decompositions.decomposition_table:
        raise NotImplementedError(
            "PyTorch's whole decomposition_table takes programs apart into prims, which the playground does not have; "
            "give make_fx the rules that are wanted (torch._decomp.get_decompositions)"
        )

    @functools.wraps(f)
    def wrapped(*args):
        return _trace(f, args, decomposition_table, tracing_mode, pre_dispatch)

    return wrapped


def get_isolated_graphmodule(func, args, kwargs, tracing_mode="real", decomposition_table=None):
    """A function's graph, of all of its arguments."""
    flat, spec = tree_flatten((args, kwargs))

    def unpacked(*values):
        args, kwargs = tree_unflatten(list(values), spec)
        return func(*args, **kwargs)

    return make_fx(unpacked, decomposition_table, tracing_mode)(*flat)
