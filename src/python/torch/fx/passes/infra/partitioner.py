"""`CapabilityBasedPartitioner`: the nodes that somebody supports in as few parts as can be, none of which waits for itself."""

import itertools
from collections import defaultdict

from torch.fx.passes.tools_common import _path
from torch.fx.passes.utils.fuser_utils import fuse_by_partitions

__all__ = ["CapabilityBasedPartitioner", "Partition"]


class Partition:
    """Some nodes of a graph, with their places counted from its end."""

    def __init__(self, id=None, nodes=None, node_orders=None):
        self.id = id
        nodes = list(nodes or ())
        if node_orders is None:
            self.nodes = dict.fromkeys(nodes)
        else:
            if len(nodes) != len(list(node_orders)):
                raise AssertionError("nodes and node_orders must have the same length")
            self.nodes = dict(zip(nodes, node_orders))

    def __repr__(self):
        return str(self.nodes)

    def add_node(self, node, node_order=None):
        """One more node."""
        self.nodes[node] = node_order

    def remove_node(self, node):
        """One node less."""
        del self.nodes[node]

    def size(self):
        """How many there are."""
        return len(self.nodes)


class _Proposal:
    """Partitions, while they are made: nodes are met from the last to the first."""

    def __init__(self, graph):
        self.assignment, self.parts, self.first, self.users = {}, {}, {}, {}
        # By partition, those that can be reached from it.
        self.reached = defaultdict(set)
        self.behind = {}
        for node in reversed(list(graph.nodes)):
            self.behind[node] = set(node.users).union(*(self.behind[user] for user in node.users))

    def below(self, users, own):
        """The partitions that some readers, or who reads those, are in."""
        found = set()
        for node in itertools.chain.from_iterable((user, *self.behind[user]) for user in users):
            if node in self.assignment:
                found |= {self.assignment[node], *self.reached[self.assignment[node]]}
        return found - set(own)

    def assign(self, node, order, number):
        if node in self.assignment:
            self.parts[self.assignment[node]].remove_node(node)
        if number is None:
            self.assignment.pop(node)
            return
        self.assignment[node] = number
        if number in self.parts:
            self.parts[number].add_node(node, order)
            return
        self.parts[number] = Partition(number, [node], [order])
        self.users[number] = set(node.users)
        self.reached[number] |= self.below(node.users, (number,))

    def _waits_for_itself(self, users, a, b):
        own = (self.parts[a].nodes, self.parts[b].nodes)
        for node in itertools.chain.from_iterable((user, *self.behind[user]) for user in users):
            if node in own[0] or node in own[1]:
                return True
            if node in self.assignment and {a, b} & self.reached[self.assignment[node]]:
                return True
        return False

    def merge(self, a, b):
        """Makes two partitions one where that does not wait for itself; the number of the first then."""
        users = (self.users[a] | self.users[b]) - set(self.parts[a].nodes) - set(self.parts[b].nodes)
        if self._waits_for_itself(users, a, b):
            return a
        kept, gone = (b, a) if self.parts[a].size() < self.parts[b].size() else (a, b)
        self.parts[kept].nodes.update(self.parts[gone].nodes)
        self.assignment.update(dict.fromkeys(self.parts.pop(gone).nodes, kept))
        self.first[kept] = min(self.first[kept], self.first.pop(gone))
        self.reached[kept] |= self.reached.pop(gone, set()) | self.below(users, (kept, gone))
        self.reached[kept] -= {kept, gone}
        self.users[kept] = users
        del self.users[gone]
        return kept


class CapabilityBasedPartitioner:
    """Partitions of the nodes that `operator_support` supports."""

    def __init__(
        self, graph_module, operator_support, allows_single_node_partition=False, non_compute_ops=None, allowed_single_node_partition_ops=None,
        skip_horizontal_fusion=False,
    ):  # fmt: skip
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops if non_compute_ops is not None else []
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops if allowed_single_node_partition_ops is not None else []
        self.skip_horizontal_fusion = skip_horizontal_fusion

    def _is_node_supported(self, node):
        return self.operator_support.is_node_supported(dict(self.graph_module.named_modules()), node)

    def propose_partitions(self):
        """The partitions."""
        made, numbers = _Proposal(self.graph_module.graph), itertools.count()
        for order, node in enumerate(reversed(list(self.graph_module.graph.nodes))):
            candidates, is_new = {}, False
            if self._is_node_supported(node) and node not in made.assignment:
                number = next(numbers)
                made.first[number] = number
                made.assign(node, order, number)
                candidates[number], is_new = None, True
            if not self.skip_horizontal_fusion:
                candidates.update(dict.fromkeys(number for number, _ in sorted(made.first.items(), key=lambda one: one[1])))
            elif is_new:
                candidates.update((made.assignment[user], None) for user in node.users if user in made.assignment)
            own, *others = candidates or [None]
            for other in others:
                own = made.merge(own, other)
        for part in made.parts.values():
            part.nodes = dict(sorted(part.nodes.items(), key=lambda one: one[1], reverse=True))
        self._take_items(made)
        if not self.allows_single_node_partition:
            self._drop_single(made)
        return [part for part in made.parts.values() if part.size() > 0]

    def _take_items(self, made):
        """Nodes that unpack a value are where the value is."""
        while True:
            moved = {}
            for node in self.graph_module.graph.nodes:
                if all(user.op == "call_function" and _path(user.target) == "_operator.getitem" for user in node.users):
                    number = made.assignment.get(node)
                    moved.update((user, number) for user in node.users if made.assignment.get(user) != number)
            if not moved:
                return
            for node, number in moved.items():
                made.assign(node, None, number)

    def _drop_single(self, made):
        """Partitions that compute one thing are none."""
        nothing = {"torch.ops.aten.view", "_operator.getitem", *self.non_compute_ops}
        for number, part in list(made.parts.items()):
            paths = [_path(node.target) for node in part.nodes if node.op == "call_function"]
            if sum(path not in nothing for path in paths) + sum(path in self.allowed_single_node_partition_ops for path in paths) <= 1:
                del made.parts[number]

    def fuse_partitions(self, partitions, prefix="fused_"):
        """Puts a module in the place of each."""
        return fuse_by_partitions(self.graph_module, [partition.nodes for partition in partitions], prefix=prefix)

    def remove_bookend_non_compute_ops(self, partitions):
        """Takes out of partitions what computes nothing and stands at their ends."""
        nothing = set(self.non_compute_ops)

        def is_open(node, part, removed, neighbours):
            if node.op == "placeholder" or node not in part.nodes or node in removed:
                return True
            computes = node.op != "call_function" or _path(node.target) not in nothing
            return not computes and all(is_open(other, part, removed, neighbours) for other in neighbours(node))

        for part in partitions:
            removed = set()
            for node in part.nodes:
                ends = (lambda n: n.all_input_nodes, lambda n: list(n.users))
                if node.op == "call_function" and _path(node.target) in nothing and any(is_open(node, part, removed, end) for end in ends):
                    removed.add(node)
            for node in removed:
                part.nodes.pop(node, None)

    def partition_and_fuse(self, prefix="fused_"):
        """Both."""
        return self.fuse_partitions(self.propose_partitions(), prefix=prefix)
