"""What is being compiled, as code asks for it."""

from torch._subclasses.fake_tensor import _detected

__all__ = ["detect_fake_mode"]


def detect_fake_mode(inputs=None):
    """The mode of fake tensors that a script is in, or that its values belong to."""
    found = _detected(inputs)
    if not found:
        return None
    mode, first, i = found[0]
    for other, second, j in found[1:]:
        if other is not mode:
            raise AssertionError(f"fake mode ({mode}) from {first} {i} doesn't match mode ({other}) from {second} {j}")
    return mode
