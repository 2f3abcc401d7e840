"""Nested containers taken apart into leaves and put together again."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import torch

__all__ = [
    "PyTree", "TreeSpec", "LeafSpec", "tree_flatten", "tree_unflatten", "tree_map", "tree_map_", "tree_map_only", "tree_leaves",
    "tree_structure", "tree_iter", "tree_all", "tree_any", "tree_all_only", "tree_any_only", "tree_is_leaf",
    "register_pytree_node", "treespec_pprint",
]  # fmt: skip

PyTree = object
Context = object
NodeDef = namedtuple("NodeDef", ["type", "flatten_fn", "unflatten_fn"])


def _is_namedtuple(cls):
    return issubclass(cls, tuple) and cls is not tuple and hasattr(cls, "_fields")


def _flatten_dict(d):
    return list(d.values()), list(d.keys())


def _flatten_defaultdict(d):
    return list(d.values()), [d.default_factory, list(d.keys())]


SUPPORTED_NODES = {
    tuple: NodeDef(tuple, lambda t: (list(t), None), lambda values, _: tuple(values)),
    list: NodeDef(list, lambda l: (l, None), lambda values, _: list(values)),
    dict: NodeDef(dict, _flatten_dict, lambda values, keys: dict(zip(keys, values))),
    OrderedDict: NodeDef(OrderedDict, _flatten_dict, lambda values, keys: OrderedDict(zip(keys, values))),
    defaultdict: NodeDef(
        defaultdict, _flatten_defaultdict, lambda values, context: defaultdict(context[0], zip(context[1], values))
    ),
    deque: NodeDef(deque, lambda d: (list(d), d.maxlen), lambda values, size: deque(values, maxlen=size)),
    torch.Size: NodeDef(torch.Size, lambda s: (list(s), None), lambda values, _: torch.Size(values)),
    namedtuple: NodeDef(namedtuple, lambda t: (list(t), type(t)), lambda values, cls: cls(*values)),
}


def _private_register_pytree_node(
    cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None, from_dumpable_context=None, flatten_with_keys_fn=None
):  # fmt: skip
    """Makes a class a container, whatever it was before. `flatten_with_keys_fn` gives its values with the keys that lead to them."""
    from torch.utils._treespecs import register

    register(cls, serialized_type_name, to_dumpable_context, from_dumpable_context)
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)
    if flatten_with_keys_fn is not None:
        _WITH_KEYS[cls] = flatten_with_keys_fn


def register_pytree_node(cls, flatten_fn, unflatten_fn, **options):
    """Makes a class a container."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


_register_pytree_node = register_pytree_node
_WITH_KEYS = {}


# What lies in files of its own, which few scripts need.
_ELSEWHERE = {
    **dict.fromkeys(
        "treespec_dumps treespec_loads _register_namedtuple SUPPORTED_SERIALIZED_TYPES SERIALIZED_TYPE_TO_PYTHON_TYPE".split(), "_treespecs"
    ),
    **dict.fromkeys(
        "GetAttrKey MappingKey SequenceKey key_get keystr register_dataclass tree_flatten_with_path tree_leaves_with_path "
        "tree_map_with_path is_namedtuple is_namedtuple_class is_namedtuple_instance is_structseq is_structseq_class "
        "is_structseq_instance".split(), "_treepaths"
    ),
}  # fmt: skip


def __getattr__(name):
    if name not in _ELSEWHERE:
        raise AttributeError(f"module 'torch.utils._pytree' has no attribute '{name}'")
    import importlib

    return getattr(importlib.import_module(f"torch.utils.{_ELSEWHERE[name]}"), name)


def register_results(cls):
    """Makes what operators give with names a container."""
    SUPPORTED_NODES[cls] = NodeDef(cls, lambda t: (list(t), None), lambda values, _: tuple.__new__(cls, values))


def _node_type(tree):
    cls = type(tree)
    if cls not in SUPPORTED_NODES and cls.__module__ == "torch.return_types":
        register_results(cls)
    if cls in SUPPORTED_NODES:
        return cls
    return namedtuple if _is_namedtuple(cls) else None


def tree_is_leaf(tree, is_leaf=None):
    """Whether a value is not a container."""
    return (is_leaf is not None and is_leaf(tree)) or _node_type(tree) is None


class TreeSpec:
    """The containers without the leaves."""

    def __init__(self, type, context, children_specs):
        self.type = type
        self.context = context
        self.children_specs = children_specs
        self.num_nodes = 1 + sum(child.num_nodes for child in children_specs)
        self.num_leaves = sum(child.num_leaves for child in children_specs)
        self.num_children = len(children_specs)

    def is_leaf(self):
        """Whether it stands for one leaf."""
        return False

    def children(self):
        """The specs of what it contains."""
        return self.children_specs

    def child(self, index):
        """The spec at a position."""
        return self.children_specs[index]

    def flatten_up_to(self, tree):
        """The parts of `tree` that are where the leaves are here."""
        if _node_type(tree) is not self.type:
            raise ValueError(f"Type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        values, context = SUPPORTED_NODES[self.type].flatten_fn(tree)
        if len(values) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(values)}.")
        if self.type in (dict, OrderedDict) and list(context) != list(self.context):
            if set(context) != set(self.context):
                raise ValueError(f"Node keys mismatch; expected {self.context}, but got {context}.")
            values = [tree[key] for key in self.context]
        return [part for child, value in zip(self.children_specs, values) for part in child.flatten_up_to(value)]

    def unflatten(self, leaves):
        """The containers with leaves in them."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves):
        values = [child._build(leaves) for child in self.children_specs]
        return SUPPORTED_NODES[self.type].unflatten_fn(values, self.context)

    def __eq__(self, other):
        return (
            isinstance(other, TreeSpec)
            and (self.type, self.context) == (other.type, other.context)
            and self.children_specs == other.children_specs
        )

    def __hash__(self):
        return hash((self.type, str(self.context), tuple(self.children_specs)))

    def __repr__(self, indent=0):
        head = f"TreeSpec({self.type.__name__}, {self.context}, ["
        if not self.children_specs:
            return head + "])"
        inner = indent + 2
        children = [child.__repr__(inner) for child in self.children_specs]
        lines = ",\n".join(" " * inner + child if place else child for place, child in enumerate(children))
        return head + lines + "])"


class LeafSpec(TreeSpec):
    """One leaf."""

    def __init__(self):
        self.type = self.context = None
        self.children_specs = []
        self.num_nodes = self.num_leaves = 1
        self.num_children = 0

    def is_leaf(self):
        return True

    def flatten_up_to(self, tree):
        return [tree]

    def _build(self, leaves):
        return next(leaves)

    def __eq__(self, other):
        return isinstance(other, LeafSpec)

    def __hash__(self):
        return hash(LeafSpec)

    def __repr__(self, indent=0):
        return "*"


_LEAF = LeafSpec()


def _flatten_into(tree, leaves, is_leaf):
    node = None if is_leaf is not None and is_leaf(tree) else _node_type(tree)
    if node is None:
        leaves.append(tree)
        return _LEAF
    values, context = SUPPORTED_NODES[node].flatten_fn(tree)
    return TreeSpec(node, context, [_flatten_into(value, leaves, is_leaf) for value in values])


def tree_flatten(tree, is_leaf=None):
    """The leaves, and the containers without them."""
    leaves = []
    spec = _flatten_into(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves, treespec):
    """Containers with leaves in them."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree, is_leaf=None):
    """Iterates over the leaves."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for value in SUPPORTED_NODES[_node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(value, is_leaf)


def arg_tree_leaves(*args, **kwargs):
    """The leaves of a call's arguments."""
    return [leaf for arg in (*args, *kwargs.values()) for leaf in tree_leaves(arg)]


def tree_leaves(tree, is_leaf=None):
    """The leaves."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    """The containers without the leaves."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """`tree` with `func` of each leaf (and of what the other trees have there) in its place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten(map(func, *columns))


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls `func` on each leaf; gives `tree` back."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for values in zip(leaves, *(spec.flatten_up_to(rest) for rest in rests)):
        func(*values)
    return tree


def _matches(kinds):
    if isinstance(kinds, (type, tuple)):
        return lambda value: isinstance(value, kinds)
    return kinds


def tree_map_only(kinds, func, tree, is_leaf=None):
    """`tree_map` of the leaves of some types."""
    matches = _matches(kinds)
    return tree_map(lambda value: func(value) if matches(value) else value, tree, is_leaf=is_leaf)


def tree_map_only_(kinds, func, tree, is_leaf=None):
    """`tree_map_` of the leaves of some types."""
    matches = _matches(kinds)
    return tree_map_(lambda value: func(value) if matches(value) else value, tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether `pred` holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether `pred` holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(kinds, pred, tree, is_leaf=None):
    """Whether `pred` holds for all leaves of some types."""
    return all(pred(value) for value in tree_iter(tree, is_leaf) if isinstance(value, kinds))


def tree_any_only(kinds, pred, tree, is_leaf=None):
    """Whether `pred` holds for a leaf of some types."""
    return any(pred(value) for value in tree_iter(tree, is_leaf) if isinstance(value, kinds))


def treespec_pprint(treespec):
    """The containers as text, leaves as stars."""

    class Star:
        def __repr__(self):
            return "*"

    from pprint import pformat

    return pformat(treespec.unflatten([Star() for _ in range(treespec.num_leaves)]))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """The leaves of `tree`, each repeated where `treespec` goes deeper; None if they do not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or _node_type(tree) is not treespec.type:
        return None
    values, context = SUPPORTED_NODES[treespec.type].flatten_fn(tree)
    if len(values) != treespec.num_children or context != treespec.context:
        return None
    result = []
    for value, child in zip(values, treespec.children_specs):
        flat = _broadcast_to_and_flatten(value, child, is_leaf)
        if flat is None:
            return None
        result += flat
    return result
