"""The lists and dicts that arguments of nodes are made of: whoever changes one makes a new one."""

from torch.utils._pytree import _private_register_pytree_node

__all__ = ["immutable_list", "immutable_dict"]

_HELP = """If you are attempting to modify the kwargs or args of a torch.fx.Node object,
instead create a new copy of it and assign the copy to the node:

    new_args = ...  # copy and mutate args
    node.args = new_args"""


def _no_mutation(self, *args, **kwargs):
    raise TypeError(f"{type(self).__name__!r} object does not support mutation. {_HELP}")


class immutable_list(list):
    """A list that stays as it is."""

    __delitem__ = __iadd__ = __imul__ = __setitem__ = append = clear = extend = insert = pop = remove = reverse = sort = _no_mutation

    def __hash__(self):
        return hash(tuple(self))

    def __reduce__(self):
        return immutable_list, (tuple(self),)


class immutable_dict(dict):
    """A dict that stays as it is."""

    __delitem__ = __ior__ = __setitem__ = clear = pop = popitem = setdefault = update = _no_mutation

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return immutable_dict, (iter(self.items()),)


def _keyed(kind):
    def with_keys(value):
        from torch.utils._treepaths import MappingKey, SequenceKey

        items = value.items() if kind == "mapping" else enumerate(value)
        key = MappingKey if kind == "mapping" else SequenceKey
        return [(key(name), item) for name, item in items], list(value) if kind == "mapping" else None

    return with_keys


_HOME = "torch.fx.immutable_collections"
_private_register_pytree_node(
    immutable_list, lambda l: (list(l), None), lambda values, _: immutable_list(values),
    serialized_type_name=f"{_HOME}.immutable_list", flatten_with_keys_fn=_keyed("sequence"),
)  # fmt: skip
_private_register_pytree_node(
    immutable_dict, lambda d: (list(d.values()), list(d)), lambda values, keys: immutable_dict(zip(keys, values)),
    serialized_type_name=f"{_HOME}.immutable_dict", flatten_with_keys_fn=_keyed("mapping"),
)  # fmt: skip
