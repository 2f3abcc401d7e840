"""`torch.save` and `torch.load`: into and out of buffers and files (which are in memory here).

What is written is the playground's own: a mark, and Python's pickle of the object with tensors taken apart into bytes."""

import contextlib
import io
import os
import pickle

import torch
from torch import _native, _storage
from torch._arguments import unobeyed

_MARK = b"AOT-PLAYGROUND\n"


@contextlib.contextmanager
def _opened(f, mode):
    """A buffer as it is, a path as an open file."""
    if not isinstance(f, (str, os.PathLike)):
        method = "write" if mode == "wb" else "read"
        if not hasattr(f, method):
            raise AttributeError(f"expected 'f' to be string, path, or a file-like object with a '{method}' attribute")
        yield f
        return
    folder = os.path.dirname(os.fspath(f))
    if mode == "wb" and folder and not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    with open(f, mode) as file:
        yield file


def _memory(dtype, data):
    """A tensor over all of a memory, of its bytes."""
    return torch.tensor(list(data), dtype=torch.uint8).view(_native._dtype(dtype))


class _Memory:
    """The memory of tensors, while they are written: views of one memory are views of one again."""

    def __init__(self, tensor):
        # Kept, so that its address stays its own.
        self.tensor = _storage.elements(tensor)

    def __reduce__(self):
        return _memory, (str(self.tensor.dtype)[6:], bytes(self.tensor.view(torch.uint8).tolist()))


def _rebuild(memory, dtype, offset, size, stride, requires_grad):
    if memory is None:
        return torch.empty_strided(size, stride, dtype=_native._dtype(dtype), device="meta").requires_grad_(requires_grad)
    return _storage.over(memory, offset, size, stride).requires_grad_(requires_grad)


def _rebuild_parameter(data, requires_grad):
    return torch.nn.Parameter(data, requires_grad)


def _rebuild_constant(kind, text):
    return torch.device(text) if kind == "device" else torch.Size(text) if kind == "Size" else _native._dtype(text)


def _taken_apart(tensor, memories=None):
    """What makes a tensor again, and of what. `memories` are those already taken apart, by address and dtype."""
    if isinstance(tensor, torch.nn.Parameter):
        return _rebuild_parameter, (tensor.data, tensor.requires_grad)
    memory = None
    if tensor.device.type != "meta":
        memories = {} if memories is None else memories
        key = _storage.place(tensor)
        if key not in memories:
            memories[key] = _Memory(tensor)
        memory = memories[key]
    geometry = tensor.storage_offset(), tuple(tensor.shape), tensor.stride()
    return _rebuild, (memory, str(tensor.dtype)[6:], *geometry, tensor.requires_grad)


class _Pickler(pickle._Pickler):
    def __init__(self, file, protocol):
        super().__init__(file, protocol)
        self.memories = {}

    def reducer_override(self, obj):
        if isinstance(obj, torch.Tensor):
            return _taken_apart(obj, self.memories)
        if isinstance(obj, torch.Size):
            return _rebuild_constant, ("Size", tuple(obj))
        if isinstance(obj, torch.device):
            return _rebuild_constant, ("device", str(obj))
        if isinstance(obj, torch.dtype):
            return _rebuild_constant, ("dtype", str(obj)[6:])
        return NotImplemented


# What a checkpoint of weights may be made of, besides numbers, texts and containers of Python's own.
_SAFE = {
    "torch.serialization._memory",
    "torch.serialization._rebuild",
    "torch.serialization._rebuild_parameter",
    "torch.serialization._rebuild_constant",
    "collections.OrderedDict",
    "collections.Counter",
    "collections.defaultdict",
    "builtins.set",
    "builtins.frozenset",
    "builtins.complex",
    "builtins.bytearray",
    "builtins.dict",
    "builtins.list",
    "builtins.int",
    "copyreg._reconstructor",
}
_added = []


def add_safe_globals(safe_globals):
    """Lets `load` make these classes and call these functions with `weights_only=True`."""
    _added.extend(safe_globals)


def get_safe_globals():
    """What `add_safe_globals` added."""
    return list(_added)


def clear_safe_globals():
    """Takes back what `add_safe_globals` added."""
    _added.clear()


class safe_globals:
    """`add_safe_globals` for a block."""

    def __init__(self, safe_globals):
        self.mine = list(safe_globals)

    def __enter__(self):
        self.before = list(_added)
        add_safe_globals(self.mine)

    def __exit__(self, *args):
        _added[:] = self.before


class _WeightsUnpickler(pickle._Unpickler):
    def find_class(self, module, name):
        full = f"{module}.{name}"
        found = super().find_class(module, name)
        if full in _SAFE or any(found is one or (isinstance(one, tuple) and found is one[0]) for one in _added):
            return found
        raise pickle.UnpicklingError(
            "Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo those steps only if "
            "you trust the source of the checkpoint\033[0m. \n"
            "\t(1) In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
            "`True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary "
            "code execution. Do it only if you got the file from a trusted source.\n"
            "\t(2) Alternatively, to load with `weights_only=True` please check the recommended steps in the following error "
            f"message.\n\tWeightsUnpickler error: Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{full}])` or the `torch.serialization.safe_globals([{full}])` context manager "
            "to allowlist this global if you trust this class/function.\n\nCheck the documentation of torch.load to learn more "
            "about types accepted by default with weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
        )


def save(obj, f, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization=True):
    """Writes an object into a buffer or a file."""
    unobeyed("torch.save", pickle_module=(pickle_module, None))
    buffer = io.BytesIO()
    _Pickler(buffer, 4).dump(obj)
    with _opened(f, "wb") as file:
        file.write(_MARK + buffer.getvalue())


def _only_cpu(map_location):
    """Everything is on the CPU, before and after."""
    import torch

    if callable(map_location):
        # It is asked about every storage: one that leaves them where they are is obeyed.
        storage = object()
        places = [None if map_location(storage, "cpu") in (None, storage) else "meta"]
    else:
        places = map_location.values() if isinstance(map_location, dict) else [map_location]
    if any(place is not None and torch.device(place).type != "cpu" for place in places):
        raise NotImplementedError(f"torch.load(map_location={map_location!r}) is not supported in the playground: it can only be 'cpu'")


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Reads what `save` wrote."""
    unobeyed("torch.load", pickle_module=(pickle_module, None))
    if pickle_load_args:
        raise NotImplementedError(f"torch.load({', '.join(pickle_load_args)}=...) is not supported in the playground")
    _only_cpu(map_location)
    with _opened(f, "rb") as file:
        mark = file.read(len(_MARK))
        data = file.read() if mark == _MARK else b""
    if mark != _MARK:
        raise pickle.UnpicklingError("this is no checkpoint of the playground")
    unpickler = _WeightsUnpickler if weights_only is None or weights_only else pickle._Unpickler
    return unpickler(io.BytesIO(data)).load()
