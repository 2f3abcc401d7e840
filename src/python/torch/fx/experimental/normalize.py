"""Calls of a graph written in one way each."""

import operator

import torch
from torch.fx import Transformer
from torch.fx.node import Node, map_aggregate
from torch.fx.operator_schemas import normalize_function, normalize_module

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """Gives every argument by its name, defaults filled in. The type in a node's `meta` says which overload a call is."""

    def __init__(self, module, normalize_to_only_use_kwargs=True):
        super().__init__(module)
        self.node_map = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n):
        args, kwargs = self.fetch_args_kwargs_from_env(n)

        def kind(argument):
            return n.meta.get("type") if isinstance(argument, Node) else type(argument)

        if n.op == "call_function":
            types = map_aggregate(n.args, kind), {name: kind(value) for name, value in kwargs.items()}
            result = self.call_function(n.target, args, kwargs, *types)
        else:
            result = super().run_node(n)
        if n.op != "output":
            self.node_map[result] = n
            result.node.meta = n.meta
            result.node.type = n.type
        return result

    def call_function(self, target, args, kwargs, arg_types=None, kwarg_types=None):
        found = normalize_function(target, args, kwargs, arg_types, kwarg_types, self.normalize_to_only_use_kwargs)
        if found:
            return self.tracer.create_proxy("call_function", target, *found)
        return super().call_function(target, args, kwargs)

    def call_module(self, target, args, kwargs):
        found = normalize_module(self.module, target, args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(found or (args, kwargs)))


class NormalizeOperators(Transformer):
    """Turns functions of two tensors into Python's operators."""

    binary_magic_method_remap = {
        torch.add: operator.add,
        torch.mul: operator.mul,
        torch.sub: operator.sub,
        torch.div: operator.truediv,
        torch.floor_divide: operator.floordiv,
        torch.remainder: operator.mod,
        torch.eq: operator.eq,
        torch.ne: operator.ne,
        torch.lt: operator.lt,
        torch.le: operator.le,
        torch.gt: operator.gt,
        torch.ge: operator.ge,
    }

    def call_function(self, target, args, kwargs):
        if len(args) == 2 and target in self.binary_magic_method_remap:
            return super().call_function(self.binary_magic_method_remap[target], args, {})
        return super().call_function(target, args, kwargs)
