"""The constructors of older code: `torch.FloatTensor([1, 2])`, `torch.LongTensor(3)`, and `isinstance` of them."""

from torch import _native
from torch._tensor import Tensor

_DTYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Long": "int64",
    "Int": "int32",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
}


class _TensorType(type):
    def __call__(cls, *args, **kwargs):
        return _native._legacy_tensor(cls.dtype, *args, **kwargs)

    def __instancecheck__(cls, value):
        return isinstance(value, Tensor) and value.dtype == cls.dtype and not value.is_cuda

    def __repr__(cls):
        return f"<class 'torch.{cls.__name__}'>"


def _make(short, name):
    names = {"__module__": "torch", "dtype": _native._dtype(name), "is_cuda": False, "is_sparse": False}
    return _TensorType(f"{short}Tensor", (), names)


for _short, _name in _DTYPES.items():
    globals()[f"{_short}Tensor"] = _make(_short, _name)
