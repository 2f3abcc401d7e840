"""Changes of modules for inference: convolutions with their batch norms folded in, dropout taken out."""

import copy

import torch
from torch import nn
from torch.fx._symbolic_trace import symbolic_trace
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node
from torch.nn.utils.fusion import fuse_conv_bn_eval

__all__ = ["extract_subgraph", "fuse", "matches_module_pattern", "modules_to_mkldnn", "remove_dropout", "replace_node_module", "reset_modules"]


def _parent_name(target):
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern, node, modules):
    """Whether a node and the one that it reads call modules of these classes, the first class being the first call's."""
    if not node.args or not isinstance(node.args[0], Node):
        return False
    for cls, one in zip(pattern, (node.args[0], node)):
        if one.op != "call_module" or not isinstance(one.target, str) or type(modules.get(one.target)) is not cls:
            return False
    return True


def replace_node_module(node, modules, new_module):
    """Lets a node call another module."""
    parent, name = _parent_name(node.target)
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model, inplace=False, no_trace=False):
    """The model with batch norms in evaluation mode folded into the convolutions ahead of them."""
    patterns = [(nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d)]
    model = model if inplace else copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules, graph = dict(traced.named_modules()), copy.deepcopy(traced.graph)
    for pattern in patterns:
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules) or len(node.args[0].users) > 1:
                continue
            conv, bn = modules[node.args[0].target], modules[node.target]
            if not bn.track_running_stats:
                continue
            replace_node_module(node.args[0], modules, fuse_conv_bn_eval(conv, bn))
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model):
    """The model without modules that drop."""

    class DropoutRemover(torch.fx.Transformer):
        def call_module(self, target, args, kwargs):
            if isinstance(self.submodules[target], nn.Dropout):
                return args[0]
            return super().call_module(target, args, kwargs)

    return DropoutRemover(symbolic_trace(model)).transform()


def extract_subgraph(orig_module, nodes, inputs, outputs):
    """A module of some nodes."""
    graph, made = Graph(), {}
    for node in inputs:
        made[node] = graph.placeholder(node.name)
    for node in nodes:
        made[node] = graph.node_copy(node, made.__getitem__)
    graph.output([made[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)


def modules_to_mkldnn(nodes, modules):
    """Modules in a library's layout, which there is none of here."""
    raise NotImplementedError("torch.fx.experimental.optimization.modules_to_mkldnn is not available in the playground: it has no MKL-DNN layout")


def reset_modules(nodes, modules, old_modules):
    """Puts modules back."""
    for node in nodes:
        if node.op == "call_module" and modules[node.target] in old_modules:
            replace_node_module(node, modules, old_modules[modules[node.target]])
