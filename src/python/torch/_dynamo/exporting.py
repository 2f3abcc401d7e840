"""`torch._dynamo.export`: a function's graph alone, as a module that takes the function's arguments and gives its results.

The function is captured whole, and its graph runs on copies of what it is given. What the graph takes besides the arguments
(parameters, tensors that the function closes over) are attributes of the module. With `aten_graph=True` the captured graph is
traced once more by `make_fx`, with the fake tensors that it was captured with.
"""

import hashlib
import inspect
import re
from collections import namedtuple

import torch
from torch import _native_aot
from torch._arguments import unobeyed
from torch._dynamo import config
from torch._dynamo.eval_frame import _Call, _is_builtin, _Names, innermost_fn
from torch.fx._native_graph import python_graph
from torch.fx.graph import Graph, _PyTreeCodeGen
from torch.fx.graph_module import GraphModule
from torch.utils._pytree import tree_flatten

__all__ = ["ExportResult", "GuardsSet", "export"]

ExportResult = namedtuple("ExportResult", ["graph_module", "guards"])
ExportResult.__module__ = "torch._dynamo.eval_frame"


_Guard = namedtuple("Guard", ["name"])


class GuardsSet(set):
    """What the graph depends on: the places of what it reads."""


def export(
    f,
    *extra_args,
    aten_graph=False,
    pre_dispatch=False,
    decomposition_table=None,
    tracing_mode="symbolic",
    dynamic_shapes=None,
    assume_static_by_default=False,
    same_signature=True,
    disable_constraint_solver=False,
    specialize_float=True,
    **extra_kwargs,
):
    """A function that, given arguments for `f`, gives its graph and what the graph depends on."""
    unobeyed("torch._dynamo.export", disable_constraint_solver=(disable_constraint_solver, False))
    if decomposition_table is not None and not aten_graph:
        raise AssertionError("Specifying a decomposition_table table or tracing mode is illegal without setting aten_graph=True")
    if pre_dispatch:
        raise NotImplementedError("torch._dynamo.export(pre_dispatch=True) is not available in the playground")
    if dynamic_shapes is not None:
        raise NotImplementedError("torch._dynamo.export(dynamic_shapes=...) is not available in the playground: mark_dynamic marks dimensions")
    if not same_signature:
        raise NotImplementedError("torch._dynamo.export(same_signature=False) is not available in the playground")
    f = innermost_fn(getattr(f, "_orig_mod", f))

    def inner(*args, **kwargs):
        symbolic = tracing_mode == "symbolic"
        dynamic = True if symbolic and not assume_static_by_default else None if symbolic else False
        taken = _Taken(f, args, kwargs, (decomposition_table,) if aten_graph else None, dynamic)
        with config.patch(specialize_int=True, specialize_float=specialize_float):
            result = _Call(f, taken.backend, True, dynamic)(args, kwargs)
        return ExportResult(taken.module(result), GuardsSet(map(_Guard, taken.sources())))

    if extra_args or extra_kwargs:
        import warnings

        warnings.warn(
            "export(f, *args, **kwargs) is deprecated, use export(f)(*args, **kwargs) instead.  "
            "If you don't migrate, we may break your export call in the future if your user defined kwargs "
            "conflict with future kwargs added to export(f).",
            FutureWarning,
            stacklevel=2,
        )
        return inner(*extra_args, **extra_kwargs)
    return inner


class _Taken:
    """What is taken of one call: the graph, with the values that it read and gave."""

    def __init__(self, f, args, kwargs, retrace, dynamic):
        self.f, self.args, self.kwargs, self.retrace, self.dynamic = f, args, kwargs, retrace, dynamic
        self.flat, self.in_spec = tree_flatten((args, kwargs))
        self.names = _Names(f, None, args, kwargs)
        # An argument that is given twice is read where it is given last.
        self.place = {id(leaf): j for j, leaf in enumerate(self.flat) if isinstance(leaf, torch.Tensor)}
        self.graph, self.constants = None, {}
        # Nodes that are read from outside, with their values; nodes that are given, with what they gave in this call.
        self.inputs, self.results, self.given = {}, [], []
        # What became of the arguments, by place; the symbols of sizes.
        self.became, self.symbols = {}, {}

    def backend(self, gm, example_inputs):
        """Keeps the graph, traced once more where that is asked for."""
        if self.graph is not None:
            raise AssertionError("Tried to emit a second graph during export. Tracing through 'f' must produce a single graph.")
        self.graph = gm.graph
        self.inputs = dict(zip(gm.graph.find_nodes(op="placeholder"), example_inputs))
        self.constants = {**dict(gm.named_children()), **dict(gm.named_buffers())}
        for node, value in self.inputs.items():
            if isinstance(value, torch.Tensor) and isinstance(node._written, tuple):
                self.symbols.update(zip(value.shape, node._written[0]))
        self.results = list(gm.graph.output_node().args[0])
        if self.retrace is not None:
            self._trace_again(gm, *self.retrace)

        def run(*inputs):
            self.given = list(gm(*map(_copied, inputs)))
            return self.given

        return run

    def _trace_again(self, gm, table):
        examples = list(self.inputs.values())
        tensors = [e for e in examples if isinstance(e, torch.Tensor)]

        def flat_function(values):
            given = iter(values)
            # A result may be an input that was written to: what became of those comes last.
            return [*gm(*(next(given) if isinstance(e, torch.Tensor) else e for e in examples)), *values]

        names = _numbered(tensors, self.place)
        rules = None if table is None else dict(table)
        native, _ = _native_aot._make_fx(flat_function, names, tensors, "GraphModule", "fake", rules, False)
        self.graph, self.constants = python_graph(native)
        self.inputs = dict(zip(self.graph.find_nodes(op="placeholder"), tensors))
        last = list(self.graph.output_node().args[0])
        count = len(self.results)
        self.results = last[:count]
        self.became = {self.place[id(t)]: node for t, node in zip(tensors, last[count:]) if id(t) in self.place}

    def sources(self):
        """The places of what the graph depends on, as guards name them."""
        found = map(self.names, (v for v in self.inputs.values() if isinstance(v, torch.Tensor)))
        return [name[1] for name in found if name is not None]

    def module(self, result):
        """The module of the call's arguments and of its result."""
        leaves, out_spec = tree_flatten(result)
        graph, attributes = self._whole(leaves)
        arguments = _names_of_arguments(self.f, self.args)
        names = [f"arg{j}" for j in range(len(self.flat))]
        graph.set_codegen(_PyTreeCodeGen(arguments, names, self.in_spec, out_spec, list(self.kwargs)))
        module = GraphModule({**self.constants, **attributes}, graph)
        module._in_spec, module._out_spec = self.in_spec, out_spec
        return module

    def _whole(self, leaves):
        """The graph of all arguments that gives the leaves of the result, and the tensors it reads besides, by name."""
        graph, made = Graph(), {}
        read = {self.place[id(value)]: node for node, value in self.inputs.items() if id(value) in self.place}
        returned = {self.place[id(leaf)] for leaf in leaves if id(leaf) in self.place}
        arguments = [self._argument(graph, j, leaf, read.get(j)) for j, leaf in enumerate(self.flat)]
        self._name_returned(arguments, sorted(returned - read.keys()), len(read))
        made.update((node, arguments[j]) for j, node in read.items())
        outside = {node: value for node, value in self.inputs.items() if node not in made}
        for node in outside:
            if node.users and not isinstance(outside[node], torch.Tensor):
                made[node] = _size(graph, node, made)
        attributes = _Attributes(graph, self.names, self.retrace is not None)
        for node in self.graph.nodes if self.graph is not None else ():
            if node.op in ("placeholder", "output"):
                continue
            here = dict(made)
            for used in node._input_nodes:
                if used not in made:
                    here[used] = attributes.read(used, outside[used], node)
            if node.op == "get_attr" and node.target in self.constants:
                attributes.constant(node, self.constants)
            made[node] = graph.node_copy(node, here.__getitem__)
            made[node].name = node.name
        if _is_builtin(self.f):
            # Nothing of it is on a line of the script's.
            for node in graph.nodes:
                node.meta.pop("stack_trace", None)
        given, results = list(self.given), list(self.results)
        graph.output([self._leaf(leaf, given, results, made, arguments, attributes) for leaf in leaves])
        return graph, attributes.values

    def _argument(self, graph, j, leaf, node):
        """The placeholder of an argument, named as the graph that reads it does."""
        name = f"arg{j}" if node is None else node.name
        made = graph.create_node("placeholder", f"arg{j}", name=name)
        made.name = name
        if node is not None:
            made.meta, made._written = dict(node.meta), node._written
        elif isinstance(leaf, torch.Tensor):
            made.meta["val"] = leaf
            if self.dynamic:
                made._written = self._symbols(leaf)
        return made

    def _name_returned(self, arguments, places, count):
        """Names arguments that nothing reads and that are returned, as if they were read last."""
        for i, j in enumerate(places):
            arguments[j].name = self.names(self.flat[j])[0].lower() if self.retrace is None else f"arg{count + i}_1"

    def _symbols(self, leaf):
        """The sizes of a tensor that nothing reads, as text: equal sizes have one symbol."""
        shape = [str(size) if size < 2 else self.symbols.get(size) for size in leaf.shape]
        for dim, size in enumerate(leaf.shape):
            if shape[dim] is None:
                source = f"{self.names(leaf)[1]}.size()[{dim}]"
                number = int(hashlib.sha256(source.encode()).hexdigest(), 16) % 100
                shape[dim] = self.symbols.setdefault(size, f"s{number}")
        return shape, None

    def _leaf(self, leaf, given, results, made, arguments, attributes):
        """The node that gives a leaf of the result, or the leaf itself."""
        for value, node in zip(given, results):
            if node is not None and _is_same(value, leaf):
                return made[node] if node in made else attributes.read(node, leaf, None)
        if id(leaf) in self.place:
            j = self.place[id(leaf)]
            return made.get(self.became.get(j), arguments[j])
        for i, (value, node) in enumerate(zip(given, results)):
            if type(leaf) in (int, float) and type(value) is type(leaf) and value == leaf and hasattr(node, "op"):
                # Numbers are given in the order that the function returns them.
                given[i] = None
                return made[node]
        if isinstance(leaf, torch.Tensor):
            raise NotImplementedError(
                "torch._dynamo.export of a function that returns a tensor it did not compute is not available in the playground"
            )
        return leaf


class _Attributes:
    """Tensors that a graph reads and that are no arguments, as attributes of its module."""

    def __init__(self, graph, names, retraced):
        self.graph, self.names, self.retraced = graph, names, retraced
        self.values, self.made, self.counts = {}, {}, {"param": 0, "tensor": 0}

    def read(self, node, value, reader):
        """A node that reads one: with operators, every reader has one of its own."""
        if node in self.made and not self.retraced:
            return self.made[node]
        target = next((name for name, known in self.values.items() if known is value), None) or self._name(value)
        self.values[target] = value
        made = self.graph.create_node("get_attr", target, name=target if self.retraced else target.lower())
        made.meta = {**node.meta, **({"stack_trace": reader.stack_trace} if reader is not None and reader.stack_trace else {})}
        made._written = node._written
        self.made[node] = made
        return made

    def constant(self, node, constants):
        """Names a tensor that the function makes as those that it finds are named."""
        if self.retraced:
            value = constants.pop(node.target)
            target = self._name(value)
            constants[target], node.name, node.target = value, target, target

    def _name(self, value):
        if self.retraced:
            kind = "param" if isinstance(value, torch.nn.Parameter) else "tensor"
            self.counts[kind] += 1
            return f"_{kind}_constant{self.counts[kind] - 1}"
        found = self.names(value)
        source = re.sub(r"\._(?:modules|parameters|buffers)\['([^']*)'\]", r".\1", found[1] if found else "L['tensor']")
        if source.startswith("L['self']") or source.startswith("L['fn']"):
            return re.sub("[^0-9a-zA-Z]", "_", source)
        name = re.sub("[^0-9a-zA-Z]+", "_", re.sub(r"^[LG]\['(.*?)'\]", r"\1", source))
        return f"{name}_0"


def _numbered(tensors, place):
    """Names of a graph's inputs: arguments are counted, other tensors are named where they are read."""
    arguments = iter(range(len(tensors)))
    return [f"arg{next(arguments)}_1" if id(t) in place else f"outside{i}" for i, t in enumerate(tensors)]


def _is_same(a, b):
    """Whether two tensors are one: the same elements of the same memory."""
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return False
    return a is b or (a.data_ptr(), a.shape, a.stride(), a.dtype) == (b.data_ptr(), b.shape, b.stride(), b.dtype)


def _copied(value):
    """A tensor like it, which may be written to."""
    return value.detach().clone().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value


def _size(graph, symbol, made):
    """The node that reads a symbolic size off an argument."""
    for argument in made.values():
        for dim, size in enumerate(argument._written[0] if isinstance(argument._written, tuple) else ()):
            if size == symbol._written:
                node = graph.create_node("call_function", torch.ops.aten.sym_size.int, (argument, dim), name="sym_size_int")
                node.meta, node._written = dict(symbol.meta), size
                return node
    raise NotImplementedError(f"torch._dynamo.export of a graph whose {symbol} is no size of an argument is not available in the playground")


def _names_of_arguments(f, args):
    """What the function calls the arguments given by place."""
    f = f.forward if hasattr(f, "named_parameters") else f
    names = []
    for parameter in inspect.signature(f).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}_{i}" for i in range(len(args) - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD) and len(names) < len(args):
            names.append(parameter.name)
    return names
