"""Exceptions about symbolic sizes."""

from torch._errors import GuardOnDataDependentSymNode


class ConstraintViolationError(RuntimeError):
    """A dimension is not as dynamic as the script said."""
