"""`make_fx`: the operators that a function calls, as a graph."""

import contextlib
import functools
import inspect
import sys

import torch
from torch import _native_aot, _native_trace
from torch._arguments import unobeyed
from torch._keys import Left
from torch.fx import Proxy, Tracer
from torch.fx._native_graph import call_kind
from torch.fx.graph import _PyTreeCodeGen
from torch.fx.graph_module import GraphModule
from torch.fx.traceback import has_preserved_node_meta, kept_annotations
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

__all__ = [
    "PythonKeyTracer", "ProxyTorchDispatchMode", "disable_proxy_modes_tracing", "get_isolated_graphmodule", "get_proxy_mode", "make_fx",
    "track_tensor_tree",
]


def _names_arguments(f):
    """Whether a function says what it calls its arguments."""
    code = getattr(inspect.unwrap(f), "__code__", None)
    return code is not None and not code.co_flags & inspect.CO_VARARGS

py_sym_types = (torch.SymInt, torch.SymFloat, torch.SymBool)


def is_sym_node(node):
    """Whether a node's value is a symbolic number."""
    if not hasattr(node, "meta"):
        raise AssertionError("All nodes traced with proxy_tensor should have meta")
    return "val" in node.meta and isinstance(node.meta["val"], py_sym_types)


def _argument_names(f, count):
    """What a function calls its arguments; counted where it does not say."""
    code = getattr(inspect.unwrap(f), "__code__", None)
    if not _names_arguments(f):
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


def _forget(graph, constants):
    """Takes away what `make_fx` does not tell of nodes, those of subgraphs included."""
    for node in graph.nodes:
        for key in ("seq_nr", "original_aten", "stack_trace"):
            node.meta.pop(key, None)
    for value in constants.values():
        if isinstance(value, GraphModule):
            _forget(value.graph, dict(value.named_children()))


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

    name = f.__name__ if _names_arguments(f) else "<lambda>"
    rules = None if table is None else dict(table)
    native, symbols = _native_aot._make_fx(flat_function, names, flat, name, mode, rules, pre_dispatch)
    from torch.fx._native_graph import python_graph
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    graph, constants = python_graph(native)
    for node, leaf in zip(graph.find_nodes(op="placeholder"), flat):
        node.meta.setdefault("val", leaf)
    if not has_preserved_node_meta():
        _forget(graph, constants)
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
    unobeyed("make_fx", record_stack_traces=(record_stack_traces, False))
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


class TracedProxy(Proxy):
    """A value of the graph that the tracer at work records."""

    def __init__(self, traced, tracer):
        self.traced = traced
        super().__init__(_TracedNode(traced, tracer), tracer)


class _TracedNode:
    """The node of such a value: its name."""

    def __init__(self, traced, tracer):
        self._traced, self._tracer = traced, tracer

    @property
    def name(self):
        return self._tracer._native.name(self._traced)

    @property
    def meta(self):
        raise NotImplementedError("the meta of a node while it is traced is not available in the playground")

    def __repr__(self):
        return self.name


class _Root(torch.nn.Module):
    """What modules of the graph are registered with."""

    def __init__(self, native):
        super().__init__()
        self.__dict__["_native"] = native

    def add_module(self, name, module):
        super().add_module(name, module)
        self._native.register(name, module)

    def __setattr__(self, name, value):
        if isinstance(value, torch.nn.Module):
            self.add_module(name, value)
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name):
        # Other operators have registered bodies, too.
        if not name.startswith("__") and name not in self._modules and self._native.has(name):
            return None
        return super().__getattr__(name)


class PythonKeyTracer(Tracer):
    """Makes nodes by hand in the graph that the tracer at work records."""

    def __init__(self, native):
        super().__init__()
        self._native, self.root = native, _Root(native)

    def get_fresh_qualname(self, prefix):
        i = 0
        while hasattr(self.root, f"{prefix}{i}"):
            i += 1
        return f"{prefix}{i}"

    def unwrap_proxy(self, e):
        """The proxy of a value that the graph knows; others stay what they are."""
        known = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)
        traced = self._native.node_for(e) if isinstance(e, known) else None
        return e if traced is None else TracedProxy(traced, self)

    def create_arg(self, a):
        """An argument as the tracer takes it."""
        if isinstance(a, TracedProxy):
            return a.traced
        if isinstance(a, torch.nn.Module):
            return self._native.read(self.path_of_module(a))
        if isinstance(a, (tuple, list)):
            return type(a)(self.create_arg(item) for item in a) if type(a) in (tuple, list) else tuple(map(self.create_arg, a))
        if isinstance(a, dict):
            return {key: self.create_arg(value) for key, value in a.items()}
        return a

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        unobeyed("create_proxy", type_expr=(type_expr, None), proxy_factory_fn=(proxy_factory_fn, None))
        if kind != "call_function":
            raise NotImplementedError(f"a node of {kind} while operators are traced is not available in the playground")
        kind, named = call_kind(kind, target)
        args, kwargs = self.create_arg(tuple(args)), self.create_arg(dict(kwargs))
        called = name or target.__name__.replace(".", "_")
        return TracedProxy(self._native.call(kind, named, called, list(args), kwargs), self)


class ProxyTorchDispatchMode(TorchDispatchMode):
    """The tracer at work, as rules of operators see it."""

    enable_tracing = True

    def __init__(self, tracer, tracing_mode, pre_dispatch=False):
        if not isinstance(tracer, PythonKeyTracer):
            raise NotImplementedError("a ProxyTorchDispatchMode of a script's own is not available in the playground; make_fx traces")
        self.tracer, self.tracing_mode, self.pre_dispatch = tracer, tracing_mode, pre_dispatch

    @classmethod
    def at_work(cls, pre_dispatch=False):
        return cls(PythonKeyTracer(_native_trace.tracer()), "fake" if _native_trace.state()[3] else "real", pre_dispatch)

    def __enter__(self):
        raise NotImplementedError("entering a ProxyTorchDispatchMode is not available in the playground")

    @classmethod
    def is_infra_mode(cls):
        return True


# The tracers whose calls rules of operators answer, the innermost last.
_handled = []


@contextlib.contextmanager
def handling(mode):
    """A block in which a rule answers a call that a tracer met."""
    _handled.append(mode)
    try:
        yield
    finally:
        _handled.pop()


def get_proxy_mode():
    """The tracer that a call would meet."""
    recorded = _native_trace.state()[2]
    return None if recorded is None else ProxyTorchDispatchMode.at_work(recorded == "pre_dispatch")


def disable_proxy_modes_tracing():
    """A block whose calls no tracer sees."""
    return Left("proxy")


def track_tensor_tree(inner_res, proxy_res, *, constant, tracer):
    """What a call gives is the value of its node from here on; a node reads each part of it."""
    unobeyed("track_tensor_tree", constant=(constant, None))

    def track(value, proxy):
        if isinstance(value, dict):
            parts = value.items()
        else:
            tracer._native.gives(proxy.traced, value)
            parts = enumerate(value) if isinstance(value, (tuple, list)) else ()
        for key, part in parts:
            track(part, proxy[key])

    track(inner_res, proxy_res)
    return inner_res


def traced_body(fn, args):
    """The calls of a function on these arguments as a graph, made by the tracer whose call a rule answers."""
    if not _handled:
        raise AssertionError("Cannot reenter make_fx when we're not under a make_fx tracing session")
    flat, spec = tree_flatten(args)
    children = [tree_flatten(arg)[0] for arg in args]
    names = [f"{name}_{i + 1}" for name, leaves in zip(_argument_names(fn, len(args)), children) for i in range(len(leaves))]
    returned = {}

    def flat_function(values):
        leaves, returned["spec"] = tree_flatten(fn(*tree_unflatten(values, spec)))
        return leaves

    def template():
        return tree_unflatten(list(range(returned["spec"].num_leaves)), returned["spec"])

    return _handled[-1].tracer._native.body(flat_function, names, flat, template)
