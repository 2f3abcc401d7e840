"""Types of tensors by their sizes, for annotations; what is not known is `Dyn`."""

__all__ = ["Dyn", "TensorType", "is_consistent", "is_more_precise"]


class TensorType:
    """A tensor with such sizes."""

    def __init__(self, dim):
        self.__origin__ = TensorType
        self.__args__ = dim

    @property
    def dims(self):
        """The sizes."""
        return self.__args__

    def __repr__(self):
        return f"TensorType[{self.dims}]"

    def __eq__(self, other):
        return isinstance(other, TensorType) and list(self.dims) == list(other.dims)

    @staticmethod
    def __class_getitem__(*args):
        return TensorType(args[0] if len(args) == 1 and isinstance(args[0], tuple) else tuple(args))


class _DynType:
    """What is not known."""

    def __init__(self):
        self.__name__ = "_DynType"

    def __eq__(self, other):
        return isinstance(other, _DynType)

    def __repr__(self):
        return "Dyn"


Dyn = _DynType()


def _of_dims(relation, t1, t2):
    if not isinstance(t1, TensorType) or not isinstance(t2, TensorType):
        return False
    return len(t1.dims) == len(t2.dims) and all(map(relation, t1.dims, t2.dims))


def is_consistent(t1, t2):
    """Whether something could be of both types."""
    return t1 == t2 or Dyn in (t1, t2) or _of_dims(is_consistent, t1, t2)


def is_more_precise(t1, t2):
    """Whether the first says all that the second does."""
    return t1 == t2 or isinstance(t2, _DynType) or _of_dims(is_more_precise, t1, t2)
