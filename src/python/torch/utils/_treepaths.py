"""Leaves of trees with the keys that lead to them, and data classes as trees."""

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple

import torch
from torch.utils import _pytree


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """A place in a sequence."""

    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        """What is there."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """A key of a mapping."""

    key: object

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        """What is there."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """An attribute."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        """What is there."""
        return getattr(obj, self.name)


for _key in (SequenceKey, MappingKey, GetAttrKey):
    _key.__module__ = "torch.utils._pytree"
del _key


def children(tree):
    """What a container holds, each with its key; None of a leaf."""
    kind = _pytree._node_type(tree)
    if kind is None:
        return None
    if kind in _pytree._WITH_KEYS:
        return _pytree._WITH_KEYS[kind](tree)[0]
    if kind in (dict, OrderedDict, defaultdict):
        return [(MappingKey(key), value) for key, value in tree.items()]
    if kind is namedtuple or kind.__module__ == "torch.return_types":
        return [(GetAttrKey(name), value) for name, value in zip(tree._fields, tree)]
    if kind in (tuple, list, deque, torch.Size):
        return [(SequenceKey(i), value) for i, value in enumerate(tree)]
    raise ValueError(
        f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to register_pytree_node."
    )


def _leaves(path, tree, is_leaf):
    below = None if is_leaf is not None and is_leaf(tree) else children(tree)
    if below is None:
        yield path, tree
        return
    for key, value in below:
        yield from _leaves((*path, key), value, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """The leaves, each with the keys that lead to it."""
    return list(_leaves((), tree, is_leaf))


def tree_flatten_with_path(tree, is_leaf=None):
    """The leaves, each with the keys that lead to it, and the containers without them."""
    return tree_leaves_with_path(tree, is_leaf), _pytree.tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """`tree` with `func` of the keys that lead to a leaf, and of the leaf (and what the other trees have there), in its place."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten(func(path, leaf, *more) for (path, leaf), *more in zip(leaves, *others))


def keystr(kp):
    """Keys as Python writes them."""
    return "".join(map(str, kp))


def key_get(obj, kp):
    """What keys lead to."""
    for key in kp:
        obj = key.get(obj)
    return obj


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Makes a data class a container of its fields; those that are None are no leaves."""
    dropped = drop_field_names or []
    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError(f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a dataclass.")
    else:
        own = {f.name for f in dataclasses.fields(cls) if f.init}
        field_names = [f.name for f in dataclasses.fields(cls) if f.init] if field_names is None else field_names
        missing, unexpected = own - set(dropped) - set(field_names), set(field_names) - own
        if missing or unexpected:
            said = "field_names does not include all dataclass fields.\n"
            if missing:
                said += (
                    f"Missing fields in `field_names`: {missing}. If you want to include these fields in the pytree, please add them to "
                    "`field_names`, otherwise please add them to `drop_field_names`.\n"
                )
            if unexpected:
                said += (
                    f"Unexpected fields in `field_names`: {unexpected}. Please remove these fields, or add them to `drop_field_names`.\n"
                )
            raise ValueError(said)

    def flatten(obj):
        values = [(name, getattr(obj, name)) for name in field_names]
        there = [name for name, value in values if value is not None]
        return [value for _, value in values if value is not None], [there, [name for name, value in values if value is None]]

    def unflatten(values, context):
        there, missing = context
        return cls(**dict(zip(there, values)), **dict.fromkeys(missing))

    def with_keys(obj):
        values, (there, _) = flatten(obj)
        return [(GetAttrKey(name), value) for name, value in zip(there, values)], there

    _pytree._private_register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=with_keys
    )


__all__ = [
    "GetAttrKey", "MappingKey", "SequenceKey", "children", "key_get", "keystr", "register_dataclass", "tree_flatten_with_path",
    "tree_leaves_with_path", "tree_map_with_path",
]  # fmt: skip


def is_namedtuple_class(cls):
    """Whether a class is one of named tuples."""
    fields = isinstance(cls, type) and issubclass(cls, tuple) and getattr(cls, "_fields", None)
    is_named = isinstance(fields, tuple) and all(type(name) is str for name in fields)
    return is_named and callable(getattr(cls, "_make", None)) and callable(getattr(cls, "_asdict", None))


def is_namedtuple_instance(obj):
    """Whether a value is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj):
    """Whether a value is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls):
    """Whether a class is one of Python's own tuples with names, such as results of operators."""
    if not isinstance(cls, type) or cls.__bases__ != (tuple,):
        return False
    is_result = cls.__module__ == "torch.return_types"
    return is_result or all(isinstance(getattr(cls, f"n_{name}fields", None), int) for name in ("", "sequence_", "unnamed_"))


def is_structseq_instance(obj):
    """Whether a value is such a tuple."""
    return is_structseq_class(type(obj))


def is_structseq(obj):
    """Whether a value is such a tuple, or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))
