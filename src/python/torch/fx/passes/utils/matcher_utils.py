"""Where a pattern stands in a graph."""

import copy
from dataclasses import dataclass, field

import torch
from torch.fx.node import Node
from torch.fx.passes.utils.fuser_utils import validate_partition

__all__ = ["SubgraphMatcher", "InternalMatch"]


@dataclass
class InternalMatch:
    """A place where a pattern stands: which node of the graph is which of the pattern's."""

    anchors: list
    nodes_map: dict = field(default_factory=dict)
    placeholder_nodes: list = field(default_factory=list)
    returning_nodes: list = field(default_factory=list)
    name_node_map: dict = field(default_factory=dict)

    def __copy__(self):
        return InternalMatch(self.anchors, dict(self.nodes_map), list(self.placeholder_nodes), list(self.returning_nodes))


def _filled(node):
    """All arguments of a call of an operator, defaults included."""
    found = []
    for i, argument in enumerate(node.target._schema.arguments):
        if argument.name in node.kwargs:
            found.append(node.kwargs[argument.name])
        else:
            found.append(node.args[i] if not argument.kwarg_only and i < len(node.args) else argument.default_value)
    return found


class SubgraphMatcher:
    """Finds a pattern: from its last nodes up, in the pattern and in the graph at once."""

    def __init__(self, pattern, match_output=False, match_placeholder=False, remove_overlapping_matches=True, ignore_literals=False):
        self.pattern, self.match_output, self.match_placeholder = pattern, match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        nodes = list(pattern.nodes)
        if not nodes:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in nodes:
            if node.op != "output" and not node.is_impure() and not node.users:
                raise AssertionError("SubgraphMatcher cannot be initialized with a pattern with dead code")
        self.pattern_placeholder_nodes = [node for node in nodes if node.op == "placeholder"]
        self.pattern_returning_nodes = nodes[-1].all_input_nodes
        # Where a match begins: what nothing of the pattern but its output reads.
        self.pattern_anchors = [nodes[-1]] if match_output else [node for node in self.pattern_returning_nodes if len(node.users) == 1]

    def _match_attributes(self, pn, gn):
        values = [_attribute(node) for node in (pn, gn)]
        if type(values[0]) is not type(values[1]):
            return False
        if isinstance(values[0], torch.Tensor):
            return True
        raise RuntimeError(f"Unsupported type {values[0]} when matching attributes")

    def _nodes_are_equal(self, pn, gn, node_name_match=""):
        if not self.match_placeholder and pn.op == "placeholder":
            return True
        if node_name_match and node_name_match in gn.name:
            return True
        if pn.op != gn.op:
            return False
        if pn.op in ("placeholder", "output"):
            return True
        return self._match_attributes(pn, gn) if pn.op == "get_attr" else pn.target == gn.target

    def _is_contained(self, nodes_map):
        """Whether nothing but what the pattern returns is read elsewhere."""
        own = {gn: pn for pn, gn in nodes_map.items() if pn.op != "placeholder"}
        return all(user in own for gn, pn in own.items() if pn not in self.pattern_returning_nodes for user in gn.users)

    def _remove_overlapping_matches(self, matches):
        kept, taken = [], set()
        for match in matches:
            own = {gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output")}
            if taken.isdisjoint(own):
                kept.append(match)
                taken |= own
        return kept

    def _match_literals(self, pn, gn, match):
        if isinstance(pn, Node):
            if pn.op != "placeholder":
                return False
            if pn in match.nodes_map:
                return match.nodes_map[pn] == gn
            match.nodes_map[pn] = gn
            return True
        return not isinstance(gn, Node) and type(gn) is type(pn) and gn == pn

    def _match_args(self, wanted, found, match):
        if len(wanted) != len(found):
            return False
        for a, b in zip(wanted, found):
            if isinstance(a, Node) and isinstance(b, Node):
                same = self._match_nodes(a, b, match)
            elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
                same = self._match_args(a, b, match)
            else:
                same = self._match_literals(a, b, match) or self.ignore_literals
            if not same:
                return False
        return True

    def _match_nodes(self, pn, gn, match, node_name_match=""):
        if pn in match.nodes_map:
            return match.nodes_map[pn] == gn
        if gn in match.nodes_map.values() or not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        if len(pn.args) == len(gn.args) and list(pn.kwargs) == list(gn.kwargs):
            return self._match_args([*pn.args, *pn.kwargs.values()], [*gn.args, *gn.kwargs.values()], match)
        if pn.op == "call_function" and isinstance(pn.target, torch._ops.OpOverload):
            return self._match_args(_filled(pn), _filled(gn), match)
        return False

    def match(self, graph, node_name_match=""):
        """The places, in order."""
        candidates = [(pn, [gn for gn in graph.nodes if self._nodes_are_equal(pn, gn, node_name_match)]) for pn in self.pattern_anchors]
        candidates = [one for one in candidates if one[1]]
        found = []

        def search(index, match):
            if index == len(candidates):
                match.placeholder_nodes = [match.nodes_map[pn] for pn in self.pattern_placeholder_nodes]
                match.returning_nodes = [match.nodes_map[pn] for pn in self.pattern_returning_nodes]
                found.append(match)
                return
            pn, nodes = candidates[index]
            for gn in nodes:
                attempt = copy.copy(match)
                if self._match_nodes(pn, gn, attempt, node_name_match):
                    search(index + 1, attempt)

        if candidates:
            search(0, InternalMatch(anchors=self.pattern_anchors))
        computes = lambda match: [gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output")]  # noqa: E731
        found = [match for match in found if self._is_contained(match.nodes_map) and validate_partition(computes(match))]
        return self._remove_overlapping_matches(found) if self.remove_overlapping_matches else found


def _attribute(node):
    value = node.graph.owning_module
    for name in node.target.split("."):
        value = getattr(value, name)
    return value
