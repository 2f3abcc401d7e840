"""Makes the expected results in operators_*.json: calls of operators, with what PyTorch answers.

Arguments: a family and the file to write. A file holds tensors and cases. A tensor is
`{"t": dtype, "s": sizes, "st": strides, "o": offset, "d": storage}` (strides and offset left out where they are those of a
contiguous tensor). A case is `[operator, args, kwargs, result]`, with `{"x": n}` for the n-th tensor; a result is a value, with
dense elements, or `{"error": [class, first line]}`.
"""

import json
import math
import sys

import torch

torch.manual_seed(7)
CASES = {}
TENSORS = []


def number(v):
    if isinstance(v, float) and not math.isfinite(v):
        return repr(v)
    if isinstance(v, complex):
        return [number(v.real), number(v.imag)]
    return v


def encode(v):
    if isinstance(v, torch.Tensor):
        contiguous = v.is_contiguous() and v.stride() == torch.empty(v.shape).stride() and v.storage_offset() == 0
        flat = v.reshape(-1).tolist() if contiguous else torch.empty(0, dtype=v.dtype).set_(v.untyped_storage()).tolist()
        out = {"t": str(v.dtype)[6:], "s": list(v.shape), "d": [whole(number(x)) for x in flat]}
        if not contiguous:
            out.update(st=list(v.stride()), o=v.storage_offset())
        texts = [json.dumps(x) for x in TENSORS]  # as text, since 0.0 equals -0.0
        if json.dumps(out) not in texts:
            TENSORS.append(out)
            return {"x": len(texts)}
        return {"x": texts.index(json.dumps(out))}
    if isinstance(v, (list, tuple)):
        return [encode(x) for x in v]
    if isinstance(v, torch.dtype):
        return {"dtype": str(v)[6:]}
    return number(v)


def whole(v):
    """Floats that are integers, written as such."""
    return int(v) if isinstance(v, float) and v.is_integer() and str(v) != "-0.0" else v


def result(v):
    """Results as dense values, with their strides."""
    if isinstance(v, torch.Tensor):
        dense = torch.empty(v.shape).stride() == v.stride()
        out = {"t": str(v.dtype)[6:], "s": list(v.shape), "d": [whole(number(x)) for x in v.reshape(-1).tolist()]}
        if not dense:
            out["st"] = list(v.stride())
        return out
    if isinstance(v, (list, tuple)):
        return [result(x) for x in v]
    return number(v)


def case(family, name, *args, **kwargs):
    packet, overload = name.split(".")
    op = getattr(getattr(torch.ops.aten, packet), overload)
    arguments, keywords = encode(args), {k: encode(v) for k, v in kwargs.items()}
    try:
        answer = result(op(*args, **kwargs))
    except Exception as e:  # noqa: BLE001
        answer = {"error": [type(e).__name__, str(e).split("\n")[0]]}
    CASES.setdefault(family, []).append([f"aten.{name}", arguments, keywords, answer])


def f(*sizes):
    return torch.arange(float(math.prod(sizes))).reshape(sizes) + 1


def i(*values, dtype=torch.int64):
    return torch.tensor(values, dtype=dtype)


def views():
    one = lambda *a, **k: case("views", *a, **k)  # noqa: E731
    bases = [f(2, 3, 2), f(4, 4)[1:, 1:3], f(3, 4).t(), f(6), torch.tensor(2.5), f(2, 0, 3), f(1, 3, 1), f(3, 1, 2).permute(2, 1, 0), f(3).expand(2, 3)]
    for x in bases:
        for size in ([-1], [6], [2, -1], [3, 4], [4, 3], [2, 6, 2], [1, -1, 1], [0, -1], [-1, -1], [-2, 3], [], [3, 2, 1]):
            one("view.default", x, size)
        for size in ([-1], [2, -1], [2, 6, 2], [3, -1]):
            one("reshape.default", x, size)
        for size in ([2, 3, 4], [5, 2, 3, 4], [-1, -1, -1], [2, -1, 3], [4], [2, 3], [1, 1, 6], [7, 6]):
            one("expand.default", x, size)
        one("t.default", x)
        for a, b in ((0, 1), (-1, 0), (0, 2), (5, 0)):
            one("transpose.int", x, a, b)
            one("swapaxes.default", x, a, b)
            one("movedim.int", x, a, b)
        for dims in ([0], [1, 0], [2, 0, 1], [0, 0], [-1, 0, 1], [0, 0, 1]):
            one("permute.default", x, dims)
        one("squeeze.default", x)
        for d in (0, 1, -1, 3):
            one("squeeze.dim", x, d)
            one("unsqueeze.default", x, d)
            one("unbind.int", x, d)
        for dims in ([0, 2], [0], [0, 0]):
            one("squeeze.dims", x, dims)
        for d, index in ((0, 0), (0, -1), (1, 2), (-1, 1), (0, 9), (2, 0)):
            one("select.int", x, d, index)
        for args in ((0, 0, 2, 1), (0, 1, None, 1), (1, -2, -1, 1), (-1, 0, 9223372036854775807, 2), (0, 2, 1, 1), (1, None, None, 3), (0, 0, 1, 0)):
            one("slice.Tensor", x, *args)
        for args in ((0, 0, 1), (1, 0, 1), (-1, 0, 1), (0, 1, 2), (0, 0, 0), (9, -2, -1)):
            one("diagonal.default", x, *args)
        for args in ((0, 2, 1), (-1, 2, 2), (1, 1, 1), (0, 9, 1), (0, 1, 0)):
            one("unfold.default", x, *args)
        for args in (([2, 2], [1, 2], 0), ([2, 2], [1, 2], None), ([3], [2], 1), ([50], [1], 0), ([2], [1, 1], 0), ([2], [-1], 0)):
            one("as_strided.default", x, *args)
        for args in ((1, 0), (2, -1), (2, 1), (0, 0), (-1, 0)):
            one("split.Tensor", x, *args)
            one("chunk.default", x, *args)
            one("unsafe_split.Tensor", x, *args)
            one("tensor_split.sections", x, *args)
        for args in (([1, 1], 0), ([1, 3], -1), ([2, 1], 1), ([-1, 3], 0)):
            one("split_with_sizes.default", x, *args)
            one("tensor_split.indices", x, *args)
        for args in ((0, -1), (1, 2), (0, 1), (1, 0), (-1, -1)):
            one("flatten.using_ints", x, *args)
        for args in ((0, [2, -1]), (-1, [2, 2]), (1, [3, 1]), (0, [])):
            one("unflatten.int", x, *args)
        for args in ((0, 0, 1), (1, -2, 1), (0, 0, 5), (0, 9, 0), (0, 0, -1)):
            one("narrow.default", x, *args)
        for name in ("mT", "mH", "adjoint", "matrix_H", "numpy_T", "ravel", "atleast_1d", "atleast_2d", "atleast_3d", "_unsafe_view"):
            one(f"{name}.default", x, *([[-1]] if name == "_unsafe_view" else []))
        for name in ("hsplit", "vsplit", "dsplit"):
            one(f"{name}.int", x, 2)
            one(f"{name}.array", x, [1])
        one("broadcast_to.default", x, [2, 3, 4])
        one("diagonal_copy.default", x)
    z = torch.complex(f(2, 3), -f(2, 3))
    for t in (f(2, 4), f(4, 2).t(), f(2, 3), torch.tensor(1.0), f(2, 5)[:, 1:], i(1, 2).int(), f(2, 2).half()):
        for dtype in (torch.int32, torch.float64, torch.int16, torch.uint8, torch.float32):
            one("view.dtype", t, dtype)
        if t.dtype != torch.half:  # complex32 is not offered
            one("view_as_complex.default", t)
        one("view_as_real.default", t)
    for t in (z, z.t(), z[0, 1]):
        one("view_as_real.default", t)
        one("imag.default", t)
        one("real.default", t)
    one("view_as_complex.default", f(3, 2))
    one("real.default", f(2))
    one("imag.default", f(2))
    one("broadcast_tensors.default", [f(3, 1), f(1, 2)])
    one("movedim.intlist", f(2, 3, 4), [0, 1], [2, 0])
    one("movedim.intlist", f(2, 3, 4), [0, 0], [2, 0])
    one("tensor_split.tensor_indices_or_sections", f(5), i(1, 3))
    one("tensor_split.tensor_indices_or_sections", f(5), torch.tensor(2))


def scatters():
    one = lambda *a, **k: case("scatters", *a, **k)  # noqa: E731
    for x in (f(3, 4), f(4, 3).t()):
        one("slice_scatter.default", x, torch.zeros(3, 2), 1, 1, 3)
        one("slice_scatter.default", x, torch.zeros(2, 4).double(), 0, 0, None, 2)
        one("slice_scatter.default", x, torch.zeros(3, 3), 1, 1, 3)
        one("select_scatter.default", x, torch.zeros(3), 1, -1)
        one("diagonal_scatter.default", x, torch.zeros(3), 1)
        one("as_strided_scatter.default", x, torch.zeros(2, 2), [2, 2], [1, 2], 1)
    one("slice_backward.default", f(2, 2), [2, 5], 1, 1, 9223372036854775807, 2)
    one("select_backward.default", f(3), [3, 4], -1, -2)
    one("diagonal_backward.default", f(2), [3, 4], -1, 0, 1)
    one("unfold_backward.default", f(4, 4, 2), [5, 4], 0, 2, 1)
    one("unfold_backward.default", f(5, 2, 3), [5, 7], 1, 3, 3)


def joining():
    one = lambda *a, **k: case("joining", *a, **k)  # noqa: E731
    x = f(2, 3)
    one("cat.default", [x, x.double()], 1)
    one("cat.default", [x.t(), f(3, 2)], -1)
    one("cat.default", [x, torch.zeros(0), x], 0)
    one("cat.default", [torch.zeros(0), torch.zeros(0)], 0)
    one("cat.default", [i(1, 2), f(2).bool()], 0)
    one("cat.default", [i(1, 2), torch.zeros(0)], 0)
    one("cat.default", [], 0)
    one("cat.default", [x, f(2, 3, 4)], 0)
    one("cat.default", [x, f(3, 4)], 0)
    one("cat.default", [x, torch.tensor(1.0)], 0)
    one("cat.default", [x], 5)
    cl = f(1, 2, 2, 2).contiguous(memory_format=torch.channels_last)
    one("cat.default", [cl, cl], 1)
    one("cat.default", [cl, f(1, 2, 2, 2)], 1)
    one("cat.default", [f(2).half(), f(2).bfloat16()], 0)
    one("cat.default", [torch.tensor([1 + 2j]), f(2)], 0)
    one("stack.default", [x, x.int()], -1)
    one("stack.default", [x.t(), f(3, 2)], 1)
    one("stack.default", [x, f(3, 2)])
    one("stack.default", [])
    for name in ("hstack", "vstack", "dstack", "column_stack", "row_stack"):
        one(f"{name}.default", [f(3), f(3)])
        one(f"{name}.default", [x, x])
        one(f"{name}.default", [torch.tensor(1.0), torch.tensor(2.0)])
    one("repeat.default", x, [2, 1, 2])
    one("repeat.default", x.t(), [1, 2])
    one("repeat.default", x, [2])
    one("repeat.default", x, [0, 2])
    one("tile.default", x, [2])
    one("tile.default", f(2), [2, 3])
    one("repeat_interleave.self_int", x, 2)
    one("repeat_interleave.self_int", x, 2, 1)
    one("repeat_interleave.self_int", x, -1, 1)
    one("repeat_interleave.self_Tensor", x, i(1, 2), 0)
    one("repeat_interleave.self_Tensor", x, i(2), 1)
    one("repeat_interleave.self_Tensor", x, i(1, 2, 3), 0)
    one("repeat_interleave.Tensor", i(2, 0, 1))
    one("repeat_interleave.Tensor", i(2, 0, 1, dtype=torch.int32), output_size=3)
    for dims in ([0], [0, 1], [-1], [], [0, 0], [2]):
        one("flip.default", x, dims)
        one("flip.default", x.t(), dims)
    one("fliplr.default", x)
    one("flipud.default", x)
    one("fliplr.default", f(3))
    for k in (-1, 0, 1, 2, 3, 5):
        one("rot90.default", x, k)
    one("rot90.default", f(2, 3, 2), 1, [1, 2])
    one("rot90.default", x, 1, [0])
    one("rot90.default", x, 1, [0, 0])
    one("rot90.default", f(3))
    for shifts, dims in (([1], []), ([1, 2], [0, 1]), ([-1], [1]), ([5], [0]), ([1, 2], [0]), ([1, 2], [])):
        one("roll.default", x.t(), shifts, dims)
    for pad in ([1, 1, 2, 0], [0, 1], [-1, 2], [-1, 0, 0, -1], [1], [0, 0, 0, 0, 1, 1], [-4, 0]):
        one("constant_pad_nd.default", x, pad, 7.5)
        one("constant_pad_nd.default", x.long(), pad, 3)
        one("pad.default", x, pad)
    one("diag.default", f(2), 1)
    one("diag.default", f(3, 2), -1)
    one("diag.default", f(2, 2, 2))
    one("diag_embed.default", x)
    one("diag_embed.default", x, -1, 0, 2)
    one("diag_embed.default", x, 0, 1, 1)
    one("diagflat.default", x.t(), 1)
    one("trace.default", f(3, 2))
    one("trace.default", f(3, 3).int())
    one("trace.default", f(3))
    one("block_diag.default", [x, f(2), torch.tensor(3.0), i(4)])
    one("linalg_cross.default", f(2, 3), f(2, 3) * f(3))
    one("linalg_cross.default", f(3, 2), f(3, 1) - 2, dim=0)
    one("linalg_cross.default", f(3, 2), f(3, 2))
    one("cross.default", f(3, 2), f(3, 2) * 2 + f(2))
    one("tril.default", f(3, 4).t(), 1)
    one("triu.default", f(2, 3, 3), -1)
    one("tril.default", f(3))
    one("meshgrid.default", [f(2), f(3)])
    one("meshgrid.indexing", [f(2), f(3), f(1)], indexing="xy")
    one("meshgrid.indexing", [f(2), f(3)], indexing="zz")
    one("cartesian_prod.default", [f(2), f(3)])
    one("cartesian_prod.default", [f(2)])
    one("combinations.default", f(4))
    one("combinations.default", f(3), 2, True)
    one("combinations.default", f(4), 3)
    one("one_hot.default", i(0, 2, 1))
    one("one_hot.default", i(0, 2, 1), 4)
    one("one_hot.default", i(0, 5), 3)
    one("one_hot.default", i(0, -5), 3)
    one("one_hot.default", f(2), 3)


def gathering():
    one = lambda *a, **k: case("gathering", *a, **k)  # noqa: E731
    zeros = lambda *s: torch.zeros(s, dtype=torch.long)  # noqa: E731
    x, idx = f(2, 3), torch.tensor([[2, 0], [1, 1]])
    one("gather.default", x, 1, idx)
    one("gather.default", x.t(), 0, idx)
    one("gather.default", x, -1, idx.int())
    one("gather.default", torch.tensor(2.0), 0, i(0, 0))
    one("gather.default", x, 1, zeros(0))
    one("gather.default", x.bool(), 0, torch.tensor([[1, 0, 1]]))
    one("gather.default", x, 1, x)
    one("gather.default", x, 1, zeros(3))
    one("gather.default", x, 1, zeros(3, 3))
    one("gather.default", x, 1, zeros(2, 3) + 5)
    one("gather.default", x, 1, zeros(2, 3) - 1)
    one("gather.default", x, 2, idx)
    for name in ("scatter.src", "scatter_add.default"):
        one(name, x, 1, idx, f(2, 2) * 10)
        one(name, x.t(), 0, idx, f(2, 3) * 10)
        one(name, x.long(), 1, idx, f(2, 2).long())
        one(name, x, 1, idx, f(2, 2).double())
        one(name, x, 1, zeros(2, 3), f(1, 3))
        one(name, x, 1, zeros(2, 3) + 5, f(2, 3))
        one(name, x, 1, zeros(3), f(3))
        one(name, x.half(), 1, idx, f(2, 2).half())
    one("scatter.value", x, 1, idx, 7.5)
    one("scatter.value", x.long(), 1, idx, True)
    for reduce in ("add", "multiply", "max"):
        one("scatter.reduce", x, 1, idx, f(2, 2) * 3, reduce=reduce)
        one("scatter.value_reduce", x, 1, idx, 3, reduce=reduce)
    for reduce in ("sum", "prod", "mean", "amax", "amin", "max"):
        for include in (True, False):
            one("scatter_reduce.two", x, 1, torch.tensor([[1, 1], [0, 1]]), f(2, 2) * 3 - 5, reduce, include_self=include)
            one("scatter_reduce.two", x.long() - 3, 0, torch.tensor([[1, 1], [0, 1]]), f(2, 2).long() * 3 - 5, reduce, include_self=include)
    one("scatter_reduce.two", x, 1, torch.tensor([[1, 1]]), torch.tensor([[float("nan"), 9]]), "amax")
    for index in (i(1, 0, 1), i(1), torch.tensor(1), i(0, dtype=torch.int32), i(7), i(-1), f(1), torch.zeros(1, 1).long()):
        one("index_select.default", x, 0, index)
        one("index_fill.int_Scalar", x, 1, index, 9)
        n = index.numel()
        one("index_add.default", x, 0, index, f(n, 3) * 2)
        one("index_copy.default", x, 0, index, f(n, 3) * 2)
    one("index_select.default", x.permute(1, 0), -1, i(1, 1))
    one("index_select.default", torch.tensor(3.0), 0, i(0))
    one("index_add.default", x, 0, i(0, 0), f(2, 3), alpha=2.5)
    one("index_add.default", x.long(), 1, i(2, 0), f(2, 2).long(), alpha=2)
    one("index_add.default", x, 0, i(0), f(1, 2))
    one("index_add.default", x, 0, i(0), f(2, 3))
    one("index_add.default", x, 0, i(0), f(1, 3).double())
    one("index_copy.default", x, 0, i(0), f(1, 2))
    one("index_copy.default", x, 0, i(0), f(1, 3).double())
    one("index_fill.int_Tensor", x.t(), 0, i(0, 2), torch.tensor(5))
    one("index_fill.int_Tensor", x, 0, i(0), f(2))
    for reduce in ("prod", "mean", "amax", "amin"):
        one("index_reduce.default", x, 0, i(0, 0), f(2, 3) * 4, reduce, include_self=True)
        one("index_reduce.default", x, 1, i(2, 2), f(2, 2) * 4, reduce, include_self=False)
    one("take.default", x.t(), torch.tensor([[0, 5], [-1, 1]]))
    one("take.default", x, i(7))
    one("put.default", x.t(), i(1, -1), f(2) * 20)
    one("put.default", x, i(1, 1), f(2) * 20, True)
    one("put.default", x, i(9), f(1))
    one("take_along_dim.default", x, torch.tensor([[0, 2]]), 1)
    one("take_along_dim.default", x, i(4, -1))
    one("linalg_cross.default", f(2, 2, 3).permute(2, 0, 1), f(3, 1, 2) - 3, dim=0)


def advanced():
    one = lambda *a, **k: case("advanced", *a, **k)  # noqa: E731
    x = f(2, 3, 4)
    m1, m2, m3 = torch.tensor([True, False]), f(2, 3) % 2 == 0, x % 3 == 1
    wide, idx = torch.tensor([[0, 1], [1, 0]]), i(0, 1)
    lists = [
        [idx], [i(-1, 0, 1)], [None, i(2, 0)], [None, None, i(3)], [idx, idx], [idx, None, i(3, 1)], [None, idx, i(3, 1)], [wide], [None, wide],
        [wide, idx], [wide, None, wide], [m1], [m2], [m3], [None, m2[0]], [m1, i(2)], [m2, i(0, 1, 2)], [i(0).int()], [torch.tensor(1)], [i()],
        [i(5)], [None, i(-4)], [idx, i(0, 1, 2)], [f(2)], [m2[0]], [idx, idx, idx, idx], [idx.to(torch.uint8)],
    ]
    for base in (x, x.permute(2, 0, 1), f(4, 3, 2).permute(2, 1, 0), f(4, 6, 2)[::2, ::2]):
        for indices in lists:
            one("index.Tensor", base, indices)
    for base in (x, x.permute(1, 0, 2).contiguous().permute(1, 0, 2)):
        for indices in lists:
            one("index_put.default", base, indices, torch.tensor(50.0))
            one("index_put.default", base, indices, f(4) * 100, True)
    one("index_put.default", x, [idx], f(5))
    one("index_put.default", x, [idx], f(2, 3, 4) * -1)
    one("index_put.default", x, [i(1, 1, 1)], f(3, 1, 1), True)
    one("index_put.default", x, [idx], f(4).double())
    one("index_put.default", x.long(), [i(1, 1)], f(4).long(), True)
    one("index_put.default", x > 4, [i(1, 1)], torch.tensor(True))
    one("_unsafe_index.Tensor", x, [None, i(2, 0)])
    one("_unsafe_index_put.default", x, [None, i(2, 0)], torch.tensor(1.5))
    for base, mask in ((x, m3), (x.permute(2, 1, 0), m3.permute(2, 1, 0)), (f(4), x > 7), (x, f(4) > 2), (x, x), (torch.tensor(3.0), torch.tensor(True))):
        one("masked_select.default", base, mask)
    one("masked_scatter.default", x, m3, f(24) * 10)
    one("masked_scatter.default", f(4), x > 20, f(24) * 10)
    one("masked_scatter.default", x, m3, f(2))
    one("masked_scatter.default", x, m3, f(24).double())
    one("masked_scatter_backward.default", x, m3, [10])
    for t in (m2, m2.t(), m3, f(3) - 2, torch.tensor(0.0), torch.tensor(1), torch.zeros(2, 0), torch.zeros(3).bool()):
        one("nonzero.default", t)
        one("where.default", t)
        one("argwhere.default", t)
        one("nonzero_static.default", t, size=3)
    one("nonzero_static.default", m3, size=2)


def sorting():
    one = lambda *a, **k: case("sorting", *a, **k)  # noqa: E731
    x = torch.tensor([[3.0, 1.0, 2.0, 1.0], [float("nan"), -1.0, 5.0, 0.5]])
    for t in (x, x.t(), x[:1].long(), x[0], torch.tensor(2.0), x.half(), torch.zeros(2, 0), x > 1):
        for d in (-1, 0):
            for descending in (False, True):
                one("sort.stable", t, stable=True, dim=d, descending=descending)
                one("argsort.stable", t, stable=True, dim=d, descending=descending)
        one("msort.default", t)
    one("sort.default", x, 3)
    y = torch.tensor([[3.0, 1.0, 2.0, 7.0], [6.0, -1.0, 5.0, 0.5]])
    for t in (y, y.t(), y.long(), y[0]):
        for d in (-1, 0):
            for k in (1, 2, 5):
                one("topk.default", t, k, d)
                one("topk.default", t, k, d, False)
                one("kthvalue.default", t, k, d)
                one("kthvalue.default", t, k, d, True)
    for t in (i(2, 1, 2, 3, 1), torch.tensor([[1, 1, 2], [3, 2, 2]])):
        one("mode.default", t)
        one("mode.default", t, 0, True)
    u = torch.tensor([[2, 1, 2], [1, 1, 3], [2, 1, 2]])
    for t in (u, u.float() / 2, u > 1, u[0], torch.tensor(3), torch.zeros(0)):
        for flags in ((False, False), (True, True)):
            one("_unique2.default", t, True, *flags)
            one("unique_consecutive.default", t, *flags)
    one("unique_dim.default", u, 0, True, True, True)
    one("unique_dim.default", u, 1, True, True, True)
    one("unique_consecutive.default", u.t(), True, True, 1)
    s = torch.tensor([1.0, 3.0, 3.0, 5.0])
    for right in (False, True):
        one("searchsorted.Tensor", s, torch.tensor([[0.0, 3.0], [4.0, 9.0]]), right=right)
        one("searchsorted.Scalar", s, 3, right=right)
        one("bucketize.Tensor", torch.tensor([[0.0, 3.0], [4.0, 9.0]]), s, right=right, out_int32=True)
        one("bucketize.Scalar", 3.5, s, right=right)
    one("searchsorted.Tensor", torch.stack([s, s + 1]), torch.tensor([[3.0, 4.0], [3.0, 4.0]]), side="right")
    one("searchsorted.Tensor", torch.stack([s, s + 1]), f(3, 2))
    one("searchsorted.Tensor", torch.tensor([3, 1, 2]), i(2, 3), sorter=i(1, 2, 0))
    one("searchsorted.Tensor", s, f(1), side="left", right=True)
    one("bincount.default", i(1, 3, 1))
    one("bincount.default", i(1, 3, 1), f(3))
    one("bincount.default", i(1, 3, 1), f(3).double(), 6)
    one("bincount.default", i())
    one("bincount.default", i(-1))
    one("bincount.default", f(2))
    one("histc.default", y, 4)
    one("histc.default", y, 4, 0, 4)
    one("histc.default", y, 0)
    one("isin.Tensor_Tensor", u, i(1, 3))
    one("isin.Tensor_Tensor", u, i(1, 3), invert=True)
    one("isin.Tensor_Scalar", u, 2)
    one("isin.Scalar_Tensor", 2, u)


if __name__ == "__main__":
    family, file = sys.argv[1:]
    globals()[family]()
    with open(file, "w") as out:
        lines = [",\n".join(json.dumps(x, separators=(",", ":")) for x in part) for part in (TENSORS, CASES[family])]
        out.write('{"tensors": [\n' + lines[0] + '\n], "cases": [\n' + lines[1] + "\n]}\n")
