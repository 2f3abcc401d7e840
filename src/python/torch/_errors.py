"""Exceptions that have a place of their own in PyTorch."""


class _LinAlgError(RuntimeError):
    """`torch.linalg.LinAlgError`"""


class DataDependentOutputException(RuntimeError):
    """A value was asked of a fake tensor."""


class DynamicOutputShapeException(RuntimeError):
    """The values of a fake tensor decide the size of a result."""


class FakeTensorDeviceMismatchError(RuntimeError):
    """Operands lie on several devices."""


class GuardOnDataDependentSymNode(RuntimeError):
    """A decision depends on a size that is known only at run time."""


class AcceleratorError(RuntimeError):
    """Exception raised while executing on device"""

    __module__ = "torch"


class OutOfMemoryError(RuntimeError):
    """Exception raised when device is out of memory"""

    __module__ = "torch"
