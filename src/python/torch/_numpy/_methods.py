"""Methods of arrays, and their operators, as functions of tensors."""

import torch
from torch._numpy import _arrays, _elementwise
from torch._numpy._indexing import getitem, setitem
from torch._numpy._operands import cast, tensor, torch_dtype, unsupported

TABLE = {"__getitem__": getitem, "__setitem__": setitem}


def _define(function):
    TABLE[function.__name__] = function
    return function


@_define
def astype(a, dtype, order="K", casting="unsafe", subok=True, copy=True):
    unsupported(order, "K", "order")
    unsupported(casting, "unsafe", "casting")
    unsupported(subok, True, "subok")
    unsupported(copy, True, "copy")
    return cast(tensor(a), torch_dtype(dtype))


@_define
def copy(a, order="C"):
    unsupported(order, "C", "order")
    return tensor(a).clone()


@_define
def fill(a, value):
    tensor(a).fill_(tensor(value))


@_define
def flatten(a, order="C"):
    unsupported(order, "C", "order")
    return torch.flatten(tensor(a))


@_define
def reshape(a, *shape, order="C"):
    return _arrays.reshape(a, shape, order)


@_define
def transpose(a, *axes):
    return _arrays.transpose(a, axes)


@_define
def view(a, dtype=None):
    return tensor(a) if dtype is None else tensor(a).view(torch_dtype(dtype))


@_define
def sort(a, axis=-1, kind=None, order=None):
    _arrays.copyto(a, _arrays.sort(a, axis, kind, order))


@_define
def item(a, *index):
    t = tensor(a)
    if not index:
        return t.item()
    return (getitem(torch.flatten(t), index[0]) if len(index) == 1 else getitem(t, index)).item()


@_define
def tolist(a):
    return tensor(a).tolist()


@_define
def _rows(a):
    return list(tensor(a))


def _in_place(name):
    def call(a, other):
        if name == "matmul":
            return _arrays.matmul(a, other)
        return _elementwise.TABLE[name](a, other, out=a)

    TABLE[f"in_place {name}"] = call


for _name in (
    "add subtract multiply divide floor_divide remainder power bitwise_and bitwise_or bitwise_xor left_shift right_shift matmul"
).split():
    _in_place(_name)
for _name in "ravel squeeze swapaxes".split():
    TABLE[_name] = _arrays.TABLE[_name]
