"""The parts of `torch.nn.functional`."""

__dynamo__ = "functions"

from torch.overrides import overridable


def functional(function):
    """A public function of `torch.nn.functional`, whatever file it is in."""
    function.__module__ = "torch.nn.functional"
    return overridable(function)


def warn(message, stacklevel=3):
    """A warning at the caller of the function that warns."""
    import warnings

    warnings.warn(message, stacklevel=stacklevel)
