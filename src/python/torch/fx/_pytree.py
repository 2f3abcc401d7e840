"""Trees of arguments spread out as a spec says, for code that is written for graphs."""

from torch.utils._pytree import tree_flatten


def tree_flatten_spec(pytree, spec):
    """The leaves of a tree that looks like the spec; a tree that does not is spread out as it is. Code has a list of arguments for a tuple."""
    if isinstance(pytree, list):
        pytree = tuple(pytree)
    elif isinstance(pytree, tuple) and pytree and isinstance(pytree[0], list) and spec.num_children == 2:
        pytree = (tuple(pytree[0]), *pytree[1:])
    try:
        return spec.flatten_up_to(pytree)
    except ValueError:
        return tree_flatten(pytree)[0]


__all__ = ["tree_flatten_spec"]
