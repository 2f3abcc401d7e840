"""What to raise where a name is asked for that is not there: PyTorch's own words, and, where PyTorch does have the name, that the
playground does not, and where the list of what it has is."""

LIST = "the playground does not have it; operators.html lists what it has"


def attribute_error(module, name):
    """The AttributeError of a module."""
    return AttributeError(f"module '{module}' has no attribute '{name}'{_why(module, name)}")


def tensor_attribute_error(cls, name):
    """The AttributeError of a tensor."""
    return AttributeError(f"'{cls.__name__}' object has no attribute '{name}'{_why('torch.Tensor', name)}")


def _why(owner, name):
    if name.startswith("_"):
        return ""
    from torch._names import NAMES

    known = owner.startswith("torch._C.") or name in NAMES.get(owner, "").split()
    return f" ({LIST})" if known else ""
