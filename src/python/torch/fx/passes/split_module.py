"""A graph in parts: which part a node belongs to, a function of the script's says, and every part becomes a module that a graph over them calls."""

import operator

from torch.fx.graph import Graph, map_arg
from torch.fx.graph_module import GraphModule

__all__ = ["Partition", "split_module"]

_SWITCHES = ("_enter_autocast", "_exit_autocast", "_set_grad_enabled")


class Partition:
    """A part: its nodes, the values of others that it reads, and those of its own that others read."""

    def __init__(self, name):
        self.name, self.submod_name = name, f"submod_{name}"
        self.node_names, self.inputs, self.outputs = [], {}, {}
        self.dependencies, self.dependents = {}, {}
        self.graph, self.environment, self.targets = Graph(), {}, {}

    def __repr__(self):
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n outputs: {self.outputs},\n "
            f"partitions depended on: {self.dependencies},\n partition dependents: {self.dependents}"
        )


def _attribute(module, path):
    for name in path.split("."):
        module = getattr(module, name)
    return module


class _Splitting:
    def __init__(self, m, callback, affix):
        self.m, self.nodes = m, {node.name: node for node in m.graph.nodes}
        self.partitions, self.of = {}, {}
        self.symbols = {}
        for node in m.graph.nodes:
            self._note_symbol(node)
            if node.op in ("placeholder", "get_attr", "output"):
                continue
            if getattr(node.target, "__name__", "") in _SWITCHES:
                raise NotImplementedError(f"split_module of a graph that calls {node.target.__name__} is not available in the playground")
            name = str(callback(node))
            name = name if affix is None else f"{affix}_{name}"
            self.partitions.setdefault(name, Partition(name)).node_names.append(node.name)
            self.of[node] = name
        for node in m.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                continue
            for read in (node.args, node.kwargs):
                map_arg(read, lambda made: self._cross(made, node))

    def _note_symbol(self, node):
        from torch.fx.experimental.symbolic_shapes import is_symbolic

        value = node.meta.get("example_value")
        if is_symbolic(value) and value.node.expr.is_symbol:
            self.symbols.setdefault(str(value.node.expr), node)

    def _cross(self, made, used):
        """A value is read where it may not have been made."""
        from torch.fx.experimental.symbolic_shapes import free_symbols

        here, there = self.of.get(made), self.of.get(used)
        if here == there:
            return
        if here is not None:
            self._gives(here, made, there)
        if there is not None:
            part = self.partitions[there]
            part.inputs.setdefault(made.name)
            # The symbols of its sizes come along.
            value = made.meta.get("example_value")
            for symbol in sorted(map(str, free_symbols(value))) if value is not None else ():
                node = self.symbols[symbol]
                part.inputs.setdefault(node.name)
                if self.of.get(node) is not None:
                    self._gives(self.of[node], node, there)
                    part.dependencies.setdefault(self.of[node])
            if here is not None:
                part.dependencies.setdefault(here)

    def _gives(self, here, node, there):
        self.partitions[here].outputs.setdefault(node.name)
        if there is not None:
            self.partitions[here].dependents.setdefault(there)

    def order(self):
        """The parts, each behind those that it reads from."""
        waiting = {name: dict(part.dependencies) for name, part in self.partitions.items()}
        ready, done = [name for name, needs in waiting.items() if not needs], []
        while ready:
            name = ready.pop()
            done.append(name)
            for dependent in self.partitions[name].dependents:
                waiting[dependent].pop(name)
                if not waiting[dependent]:
                    ready.append(dependent)
        if len(done) != len(self.partitions):
            raise RuntimeError("cycle exists between partitions!")
        return done

    def add_inputs(self, part, keeps_names):
        from torch.nn import Module

        is_module = lambda node: node.op == "get_attr" and isinstance(_attribute(self.m, node.target), Module)
        inputs = sorted((self.nodes[name] for name in part.inputs), key=is_module)
        part.inputs = {}
        for node in inputs:
            if is_module(node):
                made = part.graph.get_attr(node.target)
                part.targets[node.target] = _attribute(self.m, node.target)
            else:
                name = node.name if keeps_names else f"arg_{len(part.inputs)}"
                made = part.graph.placeholder(name, type_expr=node.type)
                part.inputs[node.name] = None
            made.meta, made._written = dict(node.meta), node._written
            part.environment[node] = made

    def fill(self, qualname_map, keeps_names):
        for node, name in self.of.items():
            part, target = self.partitions[name], node.target
            if node.op in ("call_module", "get_attr"):
                target = node.target.replace(".", "_")
                part.targets[target] = _attribute(self.m, node.target)
                if qualname_map is not None:
                    qualname_map[f"{part.submod_name}.{target}"] = node.target
            args, kwargs = (map_arg(read, lambda n: part.environment[n]) for read in (node.args, node.kwargs))
            made = part.graph.create_node(node.op, target, args, kwargs, node.name if keeps_names else None, node.type)
            made.meta, made._written = dict(node.meta), node._written
            part.environment[node] = made


def split_module(
    m, root_m, split_callback, qualname_map=None, keep_original_order=False, keep_original_node_name=False, keep_original_input_name=True,
    *, partition_affix=None, tuple_return=False,
):  # fmt: skip
    """A graph module's parts as modules (`submod_0`, ...), and a module that calls them. `root_m` is not asked: `m` has all attributes."""
    split = _Splitting(m, split_callback, partition_affix)
    order = split.order()
    for name in order:
        split.add_inputs(split.partitions[name], keep_original_input_name)
    split.fill(qualname_map, keep_original_node_name)
    graph, values, attributes = Graph(), {}, {}

    def copy(node):
        if node.name in values or node.op not in ("placeholder", "get_attr"):
            return
        if node.op == "placeholder":
            name = node.name if keep_original_node_name else node.target
            values[node.name] = graph.create_node("placeholder", name, node.args, type_expr=node.type)
        else:
            values[node.name] = graph.get_attr(node.target)
            attributes[node.target] = _attribute(m, node.target)
        values[node.name].meta, values[node.name]._written = dict(node.meta), node._written

    if not keep_original_order or not split.partitions:
        for node in m.graph.nodes:
            copy(node)
    for name in split.partitions if keep_original_order else order:
        part = split.partitions[name]
        given = tuple(part.environment[split.nodes[output]] for output in part.outputs)
        is_one = len(given) == 1 and not tuple_return
        part.graph.output(given[0] if is_one else given)
        if keep_original_order:
            for node in [*m.graph.find_nodes(op="placeholder"), *(split.nodes[name] for name in part.inputs)]:
                copy(node)
        attributes[part.submod_name] = GraphModule(part.targets, part.graph)
        call = graph.call_module(part.submod_name, tuple(values[name] for name in part.inputs))
        for i, output in enumerate(part.outputs):
            values[output] = call if is_one else graph.call_function(operator.getitem, (call, i))
    graph.output(map_arg(m.graph.output_node().args[0], lambda n: values[n.name]))
    made = GraphModule(attributes, graph)
    made.meta["partition_names"] = {part.submod_name for part in split.partitions.values()}
    return made
