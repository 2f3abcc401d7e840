"""Arguments that are one number for all dimensions or one per dimension."""

__dynamo__ = "modules"


def _ntuple(n, name="parse"):
    def parse(x):
        if isinstance(x, (tuple, list)) or hasattr(x, "__iter__"):
            return tuple(x)
        return (x,) * n

    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (
    _ntuple(n, f"_{name}") for n, name in enumerate(("single", "pair", "triple", "quadruple"), start=1)
)


def _reverse_repeat_tuple(t, n):
    """The items in reverse, each `n` times: padding per side, last dimension first."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size, defaults):
    """`out_size` with the sizes it leaves open filled in from the end of `defaults`."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [v if v is not None else d for v, d in zip(out_size, defaults[-len(out_size) :])]


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Takes `prefix` off the keys of a state, in place."""
    for key in list(state_dict.keys()):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    if hasattr(state_dict, "_metadata"):
        for key in list(state_dict._metadata.keys()):
            if len(key) == 0:
                continue
            if key == prefix.replace(".", "") or key.startswith(prefix):
                state_dict._metadata[key[len(prefix) :]] = state_dict._metadata.pop(key)
