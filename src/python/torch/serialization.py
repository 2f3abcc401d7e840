"""`torch.save` and `torch.load`: into and out of buffers and files (which are in memory here), in PyTorch's format.

A file is an archive: `data.pkl` is the pickle of the object, in which every tensor names the memory that it looks at, and the memories are
records of their own."""

import contextlib
import io
import os
import pickle

import torch
from torch import _native_archive
from torch._arguments import unobeyed
from torch._memories import Global, Memory, storage_dtype, storage_name

DEFAULT_PROTOCOL = 2


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


def archive(records, root="archive"):
    """An archive of records below a folder."""
    return _native_archive.write([f"{root}/{name}" for name in records], list(records.values()))


def write_archive(f, records):
    """Writes records into a file, below the folder that PyTorch names after the file."""
    root = os.path.splitext(os.path.basename(os.fspath(f)))[0] if isinstance(f, (str, os.PathLike)) else ""
    data = archive(records, root or "archive")
    with _opened(f, "wb") as file:
        file.write(data)


def read_archive(data):
    """The records of an archive, by their names below its folder."""
    records = _native_archive.read(data)
    root = next(iter(records), "").partition("/")[0] + "/"
    return {name[len(root) :]: record for name, record in records.items() if name.startswith(root)}


def record_of(records, name):
    """A record that has to be there."""
    if name not in records:
        raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found")
    return records[name]


class _Pickler(pickle._Pickler):
    def __init__(self, file, protocol):
        super().__init__(file, protocol)
        self.memories, self.numbers = {}, {}

    def persistent_id(self, obj):
        if not isinstance(obj, Memory):
            return None
        number = self.numbers.setdefault(id(obj), len(self.numbers))
        kind = Global("torch.storage", "UntypedStorage") if obj.is_untyped else Global("torch", storage_name(obj.dtype))
        return "storage", kind, str(number), obj.location, obj.count()

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, Global) and id(obj) not in self.memo:
            self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
            self.memoize(obj)
            return
        super().save(obj, save_persistent_id)

    def reducer_override(self, obj):
        if isinstance(obj, torch.Tensor) and type(obj).__reduce_ex__ in (torch.Tensor.__reduce_ex__, torch.nn.Parameter.__reduce_ex__):
            from torch._memories import reduced

            return reduced(obj, self.memories)
        if isinstance(obj, torch.Size):
            return torch.Size, (tuple(obj),)
        if isinstance(obj, torch.device):
            return torch.device, (obj.type,) if obj.index is None else (obj.type, obj.index)
        return NotImplemented

    def save_named(self, obj):
        """A value of PyTorch's that has a name."""
        self.save(Global("torch", str(obj)[6:]))

    dispatch = {**pickle._Pickler.dispatch, torch.dtype: save_named, torch.memory_format: save_named}


# What a checkpoint of weights may be made of, besides numbers, texts and containers of Python's own. Source: PyTorch,
# torch/_weights_only_unpickler.py (`_get_allowed_globals`).
_SAFE = {
    *(f"torch._utils.{name}" for name in (
        "_rebuild_parameter", "_rebuild_parameter_with_state", "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3",
        "_rebuild_meta_tensor_no_storage",
    )),
    "torch._tensor._rebuild_from_type_v2", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer", "torch.Size", "torch.Tensor", "torch.device",
    "collections.OrderedDict", "collections.Counter", "collections.defaultdict",
    *(f"{home}.{name}" for home in ("builtins", "__builtin__") for name in ("set", "bytearray", "complex", "int", "float", "bool", "str", "list", "dict", "tuple")),
    "_codecs.encode",
}  # fmt: skip
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


class _Unpickler(pickle._Unpickler):
    """Reads a pickle whose memories are records."""

    def __init__(self, records, location, added=()):
        super().__init__(io.BytesIO(record_of(records, "data.pkl")), encoding="utf-8")
        self.records, self.location, self.added, self.memories = records, location, added, {}

    def persistent_load(self, pid):
        if not isinstance(pid, tuple) or len(pid) != 5 or pid[0] != "storage" or not isinstance(pid[1], Global):
            raise pickle.UnpicklingError(f"Unknown persistent id: {pid!r}")
        _, kind, key, location, count = pid
        if key not in self.memories:
            self.location(location)
            data = record_of(self.records, f"data/{key}")
            dtype = storage_dtype(kind.name)
            size = len(data) // torch._utils._element_size(dtype)
            if not isinstance(count, int) or size != count:
                raise RuntimeError(f"the record data/{key} holds {size} elements, where the pickle says {count}")
            self.memories[key] = _native_archive.tensor_of(data, dtype)
        return self.memories[key]

    def find_class(self, module, name):
        if (module, name) == ("torch.storage", "UntypedStorage") or module == "torch" and name.endswith("Storage") and storage_dtype(name):
            return Global(module, name)
        if module == "torch" and isinstance(getattr(torch, name, None), (torch.dtype, torch.memory_format)):
            return getattr(torch, name)
        return self.find_function(module, name)

    def find_function(self, module, name):
        return super().find_class(module, name)


class _WeightsUnpickler(_Unpickler):
    """The same of what is made of tensors, numbers, texts and containers alone."""

    def find_function(self, module, name):
        full = f"{module}.{name}"
        for one in (*_added, *self.added):
            if full == (one[1] if isinstance(one, tuple) else f"{one.__module__}.{one.__qualname__}"):
                return one[0] if isinstance(one, tuple) else one
        if full in _SAFE:
            return super().find_function(module, name)
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


def pickled(obj, protocol=DEFAULT_PROTOCOL):
    """The records of a file that holds an object."""
    buffer = io.BytesIO()
    pickler = _Pickler(buffer, protocol)
    pickler.dump(obj)
    memories = {id(memory): memory for memory in pickler.memories.values()}
    records = {"data.pkl": buffer.getvalue(), ".format_version": b"1", ".storage_alignment": b"64", "byteorder": b"little"}
    records |= {f"data/{number}": memories[which].bytes() for which, number in pickler.numbers.items()}
    return {**records, "version": b"3\n"}


def save(obj, f, pickle_module=None, pickle_protocol=DEFAULT_PROTOCOL, _use_new_zipfile_serialization=True):
    """Writes an object into a buffer or a file."""
    unobeyed("torch.save", pickle_module=(pickle_module, None), _use_new_zipfile_serialization=(_use_new_zipfile_serialization, True))
    write_archive(f, pickled(obj, pickle_protocol))


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


def _check_location(map_location):
    """What is asked of where a memory was when it was written."""
    _only_cpu(map_location)

    def check(location):
        if map_location is None and str(location).startswith("cuda") and not torch.cuda.is_available():
            raise RuntimeError(
                "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a CPU-only "
                "machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
            )

    return check


def unpickled(data, check_location, weights_only=True, added=()):
    """The object that a file holds; `added` are classes that it may be made of, too."""
    if not data:
        raise EOFError
    if not data.startswith(b"PK\x03\x04"):
        raise pickle.UnpicklingError("this is no file that torch.save wrote since PyTorch 1.6, whose older ones are not available in the playground")
    records = read_archive(data)
    if "version" not in records:
        raise RuntimeError(
            'Expected hasRecord("version") to be true, but got false.  (Could this error message be improved?  If so, please report an '
            "enhancement request to PyTorch.)"
        )
    if records.get("byteorder", b"little") != b"little":
        raise NotImplementedError("files whose numbers begin with their highest byte are not available in the playground")
    kind = _WeightsUnpickler if weights_only else _Unpickler
    try:
        return kind(records, check_location, added).load()
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        if not weights_only:
            raise
        # What was made by no pickler.
        raise pickle.UnpicklingError(f"Weights only load failed: {type(error).__name__}: {error}") from error


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Reads what `save` wrote."""
    unobeyed("torch.load", pickle_module=(pickle_module, None))
    if pickle_load_args:
        raise NotImplementedError(f"torch.load({', '.join(pickle_load_args)}=...) is not supported in the playground")
    if mmap and not isinstance(f, (str, os.PathLike)):
        raise ValueError("f must be a file path in order to use the mmap argument")
    check = _check_location(map_location)
    with _opened(f, "rb") as file:
        data = file.read()
    return unpickled(data, check, weights_only is None or weights_only)
