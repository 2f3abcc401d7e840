"""Tensors as pickles tell them: what makes a tensor again, and the memory that it looks at."""

from collections import OrderedDict

import torch
from torch import _native, _storage

# Names of storages, which are older than dtypes. Source: PyTorch, torch/storage.py (`_dtype_to_storage_type_map`).
_STORAGES = {
    "float64": "DoubleStorage", "float32": "FloatStorage", "float16": "HalfStorage", "bfloat16": "BFloat16Storage", "int64": "LongStorage",
    "int32": "IntStorage", "int16": "ShortStorage", "int8": "CharStorage", "uint8": "ByteStorage", "bool": "BoolStorage",
    "complex128": "ComplexDoubleStorage", "complex64": "ComplexFloatStorage",
}  # fmt: skip
_DTYPES = {name: dtype for dtype, name in _STORAGES.items()}


def storage_name(dtype):
    """The class of a memory with such elements; None where it counts bytes."""
    return _STORAGES.get(str(dtype)[6:])


def storage_dtype(name):
    """The elements of such a memory; None where there is no such class."""
    return torch.uint8 if name == "UntypedStorage" else _native._dtype(_DTYPES[name]) if name in _DTYPES else None


class Global:
    """A name of PyTorch's in a pickle."""

    _known = {}

    def __new__(cls, module, name):
        if (module, name) not in cls._known:
            made = super().__new__(cls)
            made.module, made.name = module, name
            cls._known[module, name] = made
        return cls._known[module, name]


class Memory:
    """The memory of tensors, while they are written: views of one memory are views of one again."""

    def __init__(self, tensor):
        # Kept, so that its address stays its own.
        self.tensor, self.dtype = tensor.detach(), tensor.dtype
        self.is_untyped = storage_name(tensor.dtype) is None
        self.location = str(tensor.device)

    def bytes(self):
        """All of it."""
        from torch import _native_archive

        return _native_archive.bytes_of(self.tensor)

    def count(self):
        """How many elements it has."""
        return self.tensor._storage_nbytes() // (1 if self.is_untyped else self.tensor.element_size())

    def __reduce__(self):
        return _memory, (str(self.dtype)[6:], self.bytes())


def _memory(dtype, data):
    """A tensor over all of a memory, of its bytes."""
    from torch import _native_archive

    return _native_archive.tensor_of(data, _native._dtype(dtype))


def reduced(tensor, memories=None):
    """What makes a tensor again, and of what. `memories` are those already taken apart, by address and dtype."""
    from torch import _tensor, _utils

    state = dict(vars(tensor))
    if type(tensor) is torch.nn.Parameter:
        made = tensor.data, tensor.requires_grad, OrderedDict()
        return (_utils._rebuild_parameter_with_state, (*made, state)) if state else (_utils._rebuild_parameter, made)
    plain = _plain(tensor, memories)
    if type(tensor) is torch.Tensor and not state:
        return plain
    return _tensor._rebuild_from_type_v2, (plain[0], type(tensor), plain[1], state)


def _plain(tensor, memories):
    from torch import _utils

    size, stride = tuple(tensor.shape), tensor.stride()
    if tensor.device.type == "meta":
        return _utils._rebuild_meta_tensor_no_storage, (tensor.dtype, size, stride, tensor.requires_grad)
    memories = {} if memories is None else memories
    key = _storage.place(tensor)
    if key not in memories:
        memories[key] = Memory(tensor)
    memory = memories[key]
    args = (memory, tensor.storage_offset(), size, stride, tensor.requires_grad, OrderedDict())
    if memory.is_untyped:
        return _utils._rebuild_tensor_v3, (*args, tensor.dtype)
    bits = {name: True for name, has in (("conj", tensor.is_conj()), ("neg", tensor.is_neg())) if has}
    return _utils._rebuild_tensor_v2, (*args, bits) if bits else args


__all__ = ["Global", "Memory", "reduced", "storage_dtype", "storage_name"]
