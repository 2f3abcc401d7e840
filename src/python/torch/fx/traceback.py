"""What calls are annotated with while they are recorded, and what nodes were made of."""

import traceback
from contextlib import contextmanager
from enum import Enum
from functools import cached_property

from torch import _native_compile

_MEMORY_BUDGET = "_region_activation_memory_budget"
_current = {}
# Annotations by what comments show of them.
_shown = {}


def _tell(annotation):
    shown = {name: value if len(str(value)) <= 40 else str(value)[:40] + "..." for name, value in annotation.items()}
    _shown[str(shown)] = annotation
    _native_compile._annotate(str(shown) if annotation else None, annotation.get(_MEMORY_BUDGET))


def annotation_shown_as(text):
    """The annotation that comments show like this."""
    return dict(_shown[text])


@contextmanager
def annotate(annotation_dict):
    """Calls in the block carry the dict in `node.meta["custom"]`."""
    global _current
    before = _current
    _current = {**before, **annotation_dict}
    _tell(_current)
    try:
        yield
    finally:
        _current = before
        _tell(before)


_preserves = False


@contextmanager
def preserve_node_meta(enable=True):
    """Graphs that are traced in the block by `make_fx` keep annotations; other metadata is kept in any case."""
    global _preserves
    before, _preserves = _preserves, enable
    _native_compile._preserve_meta(enable)
    try:
        yield
    finally:
        _preserves = before
        _native_compile._preserve_meta(before)


def has_preserved_node_meta():
    """Whether a block of `preserve_node_meta` runs."""
    return _preserves


def preserved_annotation():
    """What a node made now is annotated with, where metadata is preserved."""
    return dict(_current) if _preserves else {}


@contextmanager
def kept_annotations(keeps=True):
    """Calls that a tracer meets in the block keep annotations, or not."""
    before = _native_compile._keep_annotations(keeps)
    try:
        yield
    finally:
        _native_compile._keep_annotations(before)


def annotate_fn(annotation_dict):
    """A decorator: calls in the function carry the dict."""
    from functools import wraps

    def decorator(function):
        @wraps(function)
        def annotated(*args, **kwargs):
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated

    return decorator


class NodeSourceAction(Enum):
    """What a pass did."""

    CREATE = "create"
    REPLACE = "replace"


class NodeSource:
    """What a node was made of: a node of a graph before a pass."""

    class NodeInfo:
        """A node that may be gone."""

        def __init__(self, name, target, graph_id):
            self.name, self.target, self.graph_id = name, target, graph_id

    def __init__(self, node, pass_name="", action=None):
        self.pass_name = pass_name
        self.action = action if isinstance(action, list) else [] if action is None else [action]
        for one in self.action:
            if not isinstance(one, NodeSourceAction):
                raise AssertionError(f"Expected NodeSourceAction, got {type(one)}")
        self.node_info, self.from_node = None, []
        if node:
            self.node_info = self.NodeInfo(node.name, str(node.target), id(node.graph))
            self.from_node = list(node.meta.get("from_node", ()))

    name = property(lambda self: self.node_info.name if self.node_info else "")
    target = property(lambda self: self.node_info.target if self.node_info else "")
    graph_id = property(lambda self: self.node_info.graph_id if self.node_info else -1)

    def __repr__(self):
        return self.print_readable()

    def _actions(self):
        return "+".join(action.name.lower() for action in self.action)

    def print_readable(self, indent=0):
        """What it was made of in lines, those further in that came before."""
        if indent > 9:
            return ""
        own = f"{' ' * 4 * indent}(name={self.name}, pass_name={self.pass_name}, action={self._actions()}, graph_id={self.graph_id})\n"
        return own + "".join(source.print_readable(indent + 1) for source in self.from_node)

    @cached_property
    def _told(self):
        names = {"name": self.name, "target": self.target, "graph_id": self.graph_id, "pass_name": self.pass_name}
        return {**names, "action": self._actions(), "from_node": [source.to_dict() for source in self.from_node]}

    def to_dict(self):
        """The same as text and numbers."""
        return self._told

    @classmethod
    def _from_dict(cls, d):
        if d is None:
            return None
        if not isinstance(d, dict):
            raise AssertionError(f"Expected a dict, got {type(d)}")
        known = NodeSourceAction.__members__
        actions = [known[name.upper()] for name in d.get("action", "").split("+") if name.upper() in known]
        made = cls(None, d.get("pass_name", ""), actions)
        if {"name", "target", "graph_id"} <= d.keys():
            made.node_info = cls.NodeInfo(d["name"], d["target"], d["graph_id"])
        made.from_node = [cls._from_dict(one) for one in d.get("from_node") or () if one is not None]
        return made

    def __eq__(self, other):
        return isinstance(other, NodeSource) and self.to_dict() == other.to_dict()

    def __hash__(self):
        return hash(repr(self.to_dict()))


def get_graph_provenance_json(graph):
    """By the names of a graph's calls what they were made of."""
    calls = [node for node in graph.nodes if node.op == "call_function"]
    return {node.name: [source.to_dict() for source in node.meta.get("from_node", [])] for node in calls}


_meta, _replayed = {}, None


def get_current_meta():
    """What new nodes are told beside what is known of them."""
    return {**_meta, **({"custom": dict(_current)} if _current else {})}


@contextmanager
def set_current_meta(node, pass_name=""):
    """New nodes are made of this one, where metadata is preserved."""
    global _meta
    if not _preserves or not node.meta:
        yield
        return
    before, _meta = _meta, {**node.meta, "from_node": [NodeSource(node, pass_name, NodeSourceAction.CREATE)]}
    try:
        with annotate(node.meta.get("custom", {})):
            yield
    finally:
        _meta = before


def set_stack_trace(stack):
    """Where new nodes were made, where metadata is preserved."""
    if _preserves:
        _meta.pop("stack_trace", None)
        if stack:
            _meta["stack_trace"] = "".join(stack)


def format_stack():
    """Where the script is now, or where it was when the node was made that is done again."""
    if _preserves:
        return [_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextmanager
def set_current_replay_node(node):
    """The node that is done again."""
    global _replayed
    before, _replayed = _replayed, node
    try:
        yield
    finally:
        _replayed = before


def get_current_replay_node():
    """The node that is done again."""
    return _replayed
