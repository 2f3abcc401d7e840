"""Graphs in parts by the tags of their nodes."""

import copy
from dataclasses import dataclass, field

import torch.fx
from torch.fx.node import map_arg
from torch.fx.passes.utils.common import HolderModule, lift_subgraph_as_module

__all__ = ["Component", "getattr_recursive", "setattr_recursive", "split_by_tags"]


def getattr_recursive(obj, name):
    """What a path of names leads to; None where it leads nowhere."""
    for layer in name.split("."):
        if isinstance(obj, torch.nn.ModuleList):
            obj = obj._modules.get(layer)
        else:
            obj = getattr(obj, layer, None)
        if obj is None:
            return None
    return obj


def setattr_recursive(obj, attr, value):
    """Sets what a path of names leads to."""
    path, _, name = attr.rpartition(".")
    for layer in path.split(".") if path else ():
        obj = getattr(obj, layer)
    setattr(obj, name, value)


@dataclass
class Component:
    """A part: its graph, the nodes it reads, and those of its own that others read."""

    graph: torch.fx.Graph
    order: int
    name: str
    input_placeholders: list = field(default_factory=list)
    orig_inputs: list = field(default_factory=list)
    orig_outputs: list = field(default_factory=list)
    getattr_maps: dict = field(default_factory=dict)
    constructor_args: list = field(default_factory=list)
    gm: torch.fx.GraphModule | None = None


def _nodes(argument):
    found = []
    map_arg(argument, found.append)
    return found


class _Splitting:
    def __init__(self, gm, tags):
        self.gm = gm
        self.components = {tag: Component(torch.fx.Graph(), i, f"{tag}") for i, tag in enumerate(tags)}
        # The part of a node, its copy there, and its value in the graph over the parts.
        self.of, self.copies, self.main = {}, {}, {}
        self.read = {}
        self.graph, self.output = torch.fx.Graph(), None

    def put(self, node):
        if node.op == "output":
            if self.output is not None:
                raise RuntimeError("Multiple output nodes in graph!")
            self.output = node
        elif node.op == "placeholder":
            self.main[node] = self.graph.placeholder(node.name, type_expr=node.type)
            self.main[node].meta = copy.copy(node.meta)
        elif node.op != "get_attr":
            self._put_call(node)

    def _put_call(self, node):
        if not hasattr(node, "tag"):
            raise AssertionError(f"Node does not have tag: {node.format_node()}")
        component = self.components[node.tag]
        before = [self.of[read] for read in _nodes((node.args, node.kwargs)) if read.op not in ("placeholder", "get_attr")]
        last = max((one.order for one in before), default=0)
        if component.order < last:
            raise AssertionError(
                f"Component {component.name} order must be >= max of its upstream components, order={component.order} and max={last}"
            )
        self.of[node] = component
        made = component.graph.node_copy(node, lambda read: self._within(component, read))
        made.tag = node.tag
        self.copies[node] = made

    def _within(self, component, node):
        """A node that a part reads, as the part's graph has it."""
        if node.op == "get_attr":
            if node not in component.getattr_maps:
                made = component.graph.get_attr(node.target, type_expr=node.type)
                made.meta = copy.copy(node.meta)
                component.getattr_maps[node] = made
            return component.getattr_maps[node]
        if node.op != "placeholder" and self.of[node] is component:
            return self.copies[node]
        if node not in component.orig_inputs:
            component.orig_inputs.append(node)
            made = component.graph.placeholder(node.name, type_expr=node.type)
            made.meta = copy.copy(node.meta)
            component.input_placeholders.append(made)
            self.read[node] = None
        return component.input_placeholders[component.orig_inputs.index(node)]

    def finish(self, component, return_tuple):
        """Ends a part's graph and calls it; the new names of its attributes."""
        outputs = tuple(self.copies[node] for node in component.orig_outputs)
        is_one = len(outputs) == 1 and not return_tuple
        component.graph.output(outputs[0] if is_one else outputs)
        component.gm, renamed = lift_subgraph_as_module(self.gm, subgraph=component.graph, comp_name=component.name)
        call = self.graph.call_module(component.name, args=tuple(self.main[node] for node in component.orig_inputs), kwargs=None)
        for i, node in enumerate(component.orig_outputs):
            self.main[node] = call if is_one else torch.fx.Proxy(call)[i].node
        return renamed


def split_by_tags(gm, tags, return_fqn_mapping=False, return_tuple=False, GraphModuleCls=torch.fx.GraphModule):
    """A module that calls one for each tag, in the order of the tags; a tag is the attribute `tag` of a node."""
    splitting = _Splitting(gm, tags)
    for node in gm.graph.nodes:
        splitting.put(node)
    if splitting.output is None:
        raise RuntimeError("Graph had no output node!")
    result = splitting.output.args[0]
    attributes = {}
    for node in _nodes(result):
        if node.op == "get_attr":
            splitting.main[node] = splitting.graph.get_attr(node.name, type_expr=node.type)
            attributes[node.name] = getattr_recursive(gm, node.target)
        else:
            splitting.read[node] = None
    for node in splitting.read:
        if node.op != "placeholder":
            splitting.of[node].orig_outputs.append(node)
    renamed = {}
    components = splitting.components.values()
    for component in components:
        renamed.update(splitting.finish(component, return_tuple))
    splitting.graph.output(map_arg(result, splitting.main.__getitem__))
    root = HolderModule({component.name: component.gm for component in components})
    splitting.graph._codegen = gm.graph._codegen
    for name, value in attributes.items():
        setattr(root, name, value)
    made = GraphModuleCls(root, splitting.graph)
    return (made, renamed) if return_fqn_mapping else made
