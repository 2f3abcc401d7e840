"""Makes the expected results in operators_*.json: calls of operators, with what PyTorch answers.

Run it with a Python that has PyTorch: `python operators.py FAMILY...`. A file holds tensors and cases. A tensor is
`{"t": dtype, "s": sizes, "st": strides, "o": offset, "d": storage}` (strides and offset left out where they are those of a
contiguous tensor). A case is `[operator, args, kwargs, result]`, with `{"x": n}` for the n-th tensor; a result is a value, with
dense elements, or `{"error": [class, first line]}`.
"""

import json
import math
import os
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


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    for family in sys.argv[1:] or ["views", "scatters", "joining"]:
        TENSORS.clear()
        globals()[family]()
        with open(os.path.join(here, f"operators_{family}.json"), "w") as out:
            lines = [",\n".join(json.dumps(x, separators=(",", ":")) for x in part) for part in (TENSORS, CASES[family])]
            out.write('{"tensors": [\n' + lines[0] + '\n], "cases": [\n' + lines[1] + "\n]}\n")
        print(family, len(CASES[family]))
