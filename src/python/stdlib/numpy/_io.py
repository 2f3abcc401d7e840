"""Arrays in files: `np.save`, `np.load`, `np.savez`, the format `.npy` 1.0. Files are in memory, as all of a script's are."""

import ast
import struct
from binascii import crc32

import torch

from numpy._absent import unavailable
from numpy._array import asarray, ndarray
from numpy._capture import public
from numpy._dtypes import UINT64, WIDE_UNSIGNED, resolve

_MAGIC = b"\x93NUMPY\x01\x00"


def bytes_of(a):
    """The elements' bytes in order."""
    t = a._t.contiguous().reshape(-1)
    data = bytes(t.view(torch.uint8).tolist()) if t.numel() else b""
    if a._dtype in WIDE_UNSIGNED:
        wide, size = t.element_size(), a._dtype.itemsize
        return b"".join(data[i : i + size] for i in range(0, len(data), wide))
    return data


def of_bytes(data, dtype):
    """The tensor of elements' bytes."""
    if len(data) % dtype.itemsize:
        raise ValueError("buffer size must be a multiple of element size")
    if dtype in WIDE_UNSIGNED:
        fill = bytes(torch.empty(0, dtype=dtype._torch).element_size() - dtype.itemsize)
        data = b"".join(data[i : i + dtype.itemsize] + fill for i in range(0, len(data), dtype.itemsize))
    if not data:
        return torch.zeros(0, dtype=dtype._torch)
    t = torch.tensor(list(data), dtype=torch.uint8).view(dtype._torch)
    if dtype is UINT64 and bool((t < 0).any()):
        raise unavailable("uint64 of 2**63 or more")
    return t


@public
def frombuffer(buffer, dtype=float, count=-1, offset=0, *, like=None):
    """An array of bytes, which are copied."""
    dtype = resolve(dtype)
    data = bytes(buffer)[offset:]
    return ndarray(of_bytes(data if count < 0 else data[: count * dtype.itemsize], dtype), dtype)


def _packed(a):
    head = f"{{'descr': '{a._dtype.str}', 'fortran_order': False, 'shape': {a.shape}, }}"
    head = head.encode() + b" " * (-(len(_MAGIC) + 2 + len(head) + 1) % 64) + b"\n"
    return _MAGIC + struct.pack("<H", len(head)) + head + bytes_of(a)


def _unpacked(data):
    if data[:6] != _MAGIC[:6]:
        raise unavailable("a file that is not .npy or .npz", "torch.load or pickle.load")
    wide = data[6] > 1
    start = 12 if wide else 10
    (length,) = struct.unpack("<I" if wide else "<H", data[8:start])
    head = ast.literal_eval(data[start : start + length].decode("latin1").strip())
    dtype, shape = resolve(head["descr"]), tuple(head["shape"])
    t = of_bytes(data[start + length :], dtype)
    t = t.reshape(shape[::-1]).permute(tuple(range(len(shape)))[::-1]) if head["fortran_order"] else t.reshape(shape)
    return ndarray(t, dtype)


def _write(file, data, ending):
    if hasattr(file, "write"):
        file.write(data)
        return
    name = str(file)
    with open(name if name.endswith(ending) else name + ending, "wb") as opened:
        opened.write(data)


@public
def save(file, arr, allow_pickle=True):
    """Writes an array."""
    _write(file, _packed(asarray(arr)), ".npy")


def _savez(file, args, kwds):
    arrays = {f"arr_{i}": a for i, a in enumerate(args)}
    if set(arrays) & set(kwds):
        raise ValueError(f"Cannot use un-named variables and keyword {next(iter(set(arrays) & set(kwds)))}")
    arrays.update(kwds)
    _write(file, _zipped({f"{name}.npy": _packed(asarray(a)) for name, a in arrays.items()}), ".npz")


def _zipped(files):
    """An archive of files that are not compressed."""
    archive, index = b"", b""
    for name, data in files.items():
        name = name.encode()
        # Version, flags, method, time, date, checksum, sizes, lengths of name and extra field.
        head = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, crc32(data), len(data), len(data), len(name), 0)
        index += b"PK\x01\x02" + struct.pack("<H", 20) + head + struct.pack("<HHHII", 0, 0, 0, 0, len(archive)) + name
        archive += b"PK\x03\x04" + head + name + data
    end = struct.pack("<HHHHIIH", 0, 0, len(files), len(files), len(index), len(archive), 0)
    return archive + index + b"PK\x05\x06" + end


def _unzipped(data):
    """The files of such an archive."""
    at = data.rfind(b"PK\x05\x06")
    if at < 0:
        raise ValueError("File is not a zip file")
    count, _, at = struct.unpack("<HII", data[at + 10 : at + 20])
    files = {}
    for _ in range(count):
        method, size, name, extra, comment, start = struct.unpack("<10xH8xI4xHHH8xI", data[at : at + 46])
        if method:
            raise unavailable("a compressed .npz file", "np.savez")
        # Where data begins the entry itself says.
        inner_name, inner_extra = struct.unpack("<HH", data[start + 26 : start + 30])
        begin = start + 30 + inner_name + inner_extra
        files[data[at + 46 : at + 46 + name].decode()] = data[begin : begin + size]
        at += 46 + name + extra + comment
    return files


@public
def savez(file, *args, **kwds):
    """Writes several arrays."""
    _savez(file, args, kwds)


@public
def savez_compressed(file, *args, **kwds):
    """The same; nothing is compressed, which reads alike."""
    _savez(file, args, kwds)


class NpzFile:
    """Several arrays of a file."""

    def __init__(self, data):
        self._arrays = {name.removesuffix(".npy"): array for name, array in _unzipped(data).items()}
        self.files = list(self._arrays)

    def __getitem__(self, name):
        return _unpacked(self._arrays[name.removesuffix(".npy")])

    def __contains__(self, name):
        return name in self._arrays

    def __iter__(self):
        return iter(self.files)

    def __len__(self):
        return len(self.files)

    def keys(self):
        return self._arrays.keys()

    def values(self):
        return [self[name] for name in self.files]

    def items(self):
        return [(name, self[name]) for name in self.files]

    def close(self):
        """Nothing is held."""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None


@public
def load(file, mmap_mode=None, allow_pickle=False, fix_imports=True, encoding="ASCII"):
    """Reads an array, or several."""
    if mmap_mode is not None:
        raise unavailable("memory maps", "np.load without mmap_mode")
    if hasattr(file, "read"):
        data = file.read()
    else:
        with open(str(file), "rb") as opened:
            data = opened.read()
    return NpzFile(data) if data[:2] == b"PK" else _unpacked(data)

