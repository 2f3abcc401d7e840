"""`torch.save` and `torch.load`: into and out of memory, since there are no files here.

What is written is the playground's own: a mark, and Python's pickle of the object with tensors taken apart into bytes."""

import io
import pickle

import torch
from torch import _native

_MARK = b"AOT-PLAYGROUND\n"


def _check(f, method):
    if not hasattr(f, method):
        raise NotImplementedError(
            f"torch.{'save' if method == 'write' else 'load'} of files is not available in the playground: scripts have no "
            "files; io.BytesIO works"
        )


def _rebuild(cls, dtype, shape, values, requires_grad):
    t = torch.tensor(values, dtype=_native._dtype(dtype)).reshape(shape)
    if cls == "Parameter":
        return torch.nn.Parameter(t, requires_grad)
    return t.requires_grad_(requires_grad) if requires_grad else t


def _rebuild_constant(kind, text):
    return torch.device(text) if kind == "device" else torch.Size(text) if kind == "Size" else _native._dtype(text)


class _Pickler(pickle._Pickler):
    def reducer_override(self, obj):
        if isinstance(obj, torch.Tensor):
            values = obj.detach()
            values = (values.float() if values.dtype in (torch.bfloat16, torch.float16) else values).tolist()
            name = "Parameter" if isinstance(obj, torch.nn.Parameter) else "Tensor"
            return _rebuild, (name, str(obj.dtype)[6:], tuple(obj.shape), values, obj.requires_grad and obj.is_leaf)
        if isinstance(obj, torch.Size):
            return _rebuild_constant, ("Size", tuple(obj))
        if isinstance(obj, torch.device):
            return _rebuild_constant, ("device", str(obj))
        if isinstance(obj, torch.dtype):
            return _rebuild_constant, ("dtype", str(obj)[6:])
        return NotImplemented


def save(obj, f, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization=True):
    """Writes an object into a buffer."""
    _check(f, "write")
    buffer = io.BytesIO()
    _Pickler(buffer, 4).dump(obj)
    f.write(_MARK + buffer.getvalue())


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Reads what `save` wrote."""
    _check(f, "read")
    if f.read(len(_MARK)) != _MARK:
        raise pickle.UnpicklingError("this is no checkpoint of the playground")
    return pickle._Unpickler(io.BytesIO(f.read())).load()
