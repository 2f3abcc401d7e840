"""Classes of operators as the partitioner has them: the one table that the compiler itself reads."""

import builtins
import functools
import math
import operator
from dataclasses import dataclass

import torch
from torch import _native_partition
from torch.fx.node import Node
from torch.utils._ordered_set import OrderedSet


def _packet(name):
    # There is one object for it, below `torch.ops`.
    namespace, name = name.split(".", 1)
    return getattr(getattr(torch.ops, namespace), name)


@functools.cache
def packets(name):
    """The operators of a class."""
    return [_packet(found) for found in _native_partition.packets(name)]


@functools.cache
def pointwise_ops():
    """Operators whose results' elements depend on the same elements of their inputs."""
    return [_packet(found) for found in _native_partition.pointwise() if found.startswith("aten.")]


def _symbolic():
    """The functions on symbolic numbers that may be computed again."""
    for name in _native_partition.symbolic():
        found = next((getattr(root, name) for root in (operator, math, builtins, torch) if hasattr(root, name)), None)
        # What has no name here cannot be asked about.
        if found is not None:
            yield found


@dataclass
class OpTypes:
    """The partitioner's lists of operators, and whether a node calls one of them."""

    fusible_ops: OrderedSet
    compute_intensive_ops: OrderedSet
    random_ops: OrderedSet
    view_ops: OrderedSet
    recomputable_ops: OrderedSet

    def is_fusible(self, node):
        return _target(node) in self.fusible_ops

    def is_compute_intensive(self, node):
        return _target(node) in self.compute_intensive_ops

    def is_random(self, node):
        return _target(node) in self.random_ops

    def is_view(self, node):
        return _target(node) in self.view_ops

    def is_recomputable(self, node):
        return _target(node) in self.recomputable_ops


def _target(node):
    return getattr(node.target, "overloadpacket", node.target)


def get_default_op_list():
    """The lists that the min-cut partitioner goes by."""
    random, recomputable = OrderedSet(packets("random")), OrderedSet(packets("recomputable"))
    recomputable.add(operator.getitem)
    recomputable.update(_symbolic())
    return OpTypes(recomputable | random, OrderedSet(packets("compute_intensive")), random, OrderedSet(packets("view")), recomputable)


def storage_owner(node):
    """The node in whose storage a node's value lies: a view lies in that of what it views, a write's result in what it writes to."""
    while node.op == "call_function" and node.args and isinstance(node.args[0], Node):
        call = node.args[0] if node.target is operator.getitem else node
        if _target(call) not in packets("aliasing") and not getattr(getattr(call.target, "_schema", None), "is_mutable", False):
            break
        if call.op != "call_function" or not isinstance(call.args[0], Node):
            break
        node = call.args[0]
    return node
