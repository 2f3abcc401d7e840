"""The memory behind a tensor, as scripts look at it: `UntypedStorage`, which counts bytes, and `TypedStorage`, which counts elements."""

import torch


def elements(tensor):
    """All elements of a tensor's memory, as a tensor over it."""
    return tensor.detach().as_strided((tensor._storage_nbytes() // tensor.element_size(),), (1,), 0)


def place(tensor):
    """What tensors over the same memory have in common."""
    return tensor.untyped_storage().data_ptr(), tensor.dtype


def over(memory, offset, size, stride):
    """A tensor over the memory of another."""
    return torch.empty(0, dtype=memory.dtype).set_(memory, offset, size, stride)


class UntypedStorage:
    """The memory of a tensor, in bytes."""

    def __init__(self, tensor):
        self._tensor = tensor

    def data_ptr(self):
        """Where it begins."""
        return self._tensor.data_ptr() - self._tensor.storage_offset() * self._tensor.element_size()

    def nbytes(self):
        """How many bytes it has."""
        return self._tensor._storage_nbytes()

    size = __len__ = nbytes

    @property
    def device(self):
        """Where it lies."""
        return self._tensor.device

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and self.data_ptr() == other.data_ptr()

    __hash__ = object.__hash__


class TypedStorage:
    """The memory of a tensor, as elements of the tensor's dtype."""

    def __init__(self, tensor):
        self._untyped = UntypedStorage(tensor)
        self.dtype, self.device = tensor.dtype, tensor.device

    def untyped(self):
        """The same memory, in bytes."""
        return self._untyped

    def data_ptr(self):
        """Where it begins."""
        return self._untyped.data_ptr()

    def nbytes(self):
        """How many bytes it has."""
        return self._untyped.nbytes()

    def element_size(self):
        """The bytes of an element."""
        return self._untyped._tensor.element_size()

    def size(self):
        """How many elements it has."""
        return self.nbytes() // self.element_size()

    __len__ = size

    def _elements(self):
        return elements(self._untyped._tensor)

    def tolist(self):
        """Its elements, as a list."""
        return self._elements().tolist()

    def __getitem__(self, index):
        found = self._elements()[index]
        return found.item() if found.dim() == 0 else found.storage()

    def __setitem__(self, index, value):
        self._elements()[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def __repr__(self):
        of = f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"
        return " " + "\n ".join(str(value) for value in self.tolist()) + "\n" + of
