"""Makes derivatives.json: calls of operators with what their derivative calls, and its gradients, in PyTorch.

A case is `[operator, args, kwargs, gradients of the results, calls, gradients of the
arguments]`; float64 tensors among the arguments require grad, and every result that can has a gradient, but those of lists
after the first.
"""

import json
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from operators import TENSORS, encode, f, i, result

CASES = []
torch.manual_seed(11)
SKIPPED = ("device", "layout", "pin_memory", "memory_format")


def text(v):
    if isinstance(v, torch.Tensor):
        return f"T{list(v.shape)}"
    if isinstance(v, (list, tuple)):
        return "[" + ", ".join(text(x) for x in v) + "]"
    return repr(v)


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is not torch.ops.aten.detach.default:
            all_args = []
            for k, a in enumerate(func._schema.arguments):
                if a.name not in SKIPPED:
                    all_args.append(text(args[k] if k < len(args) else kwargs.get(a.name, a.default_value)))
            self.calls.append(f"{func}({', '.join(all_args)})")
        return func(*args, **kwargs)


def leaves(v):
    if isinstance(v, torch.Tensor):
        return [v] if v.requires_grad else []
    return [x for e in v for x in leaves(e)] if isinstance(v, (list, tuple)) else []


def one(name, *args, **kwargs):
    packet, overload = name.split(".")
    op = getattr(getattr(torch.ops.aten, packet), overload)

    def leaf(v):
        if isinstance(v, torch.Tensor) and v.dtype == torch.float64:
            return v.clone().detach().requires_grad_() if v.is_contiguous() else v.detach().requires_grad_()
        return [leaf(x) for x in v] if isinstance(v, (list, tuple)) else v

    args = leaf(list(args))
    encoded = encode([[x.detach() if isinstance(x, torch.Tensor) else x for x in a] if isinstance(a, list) else a.detach() if isinstance(a, torch.Tensor) else a for a in args])
    out = op(*args, **kwargs)
    outs = list(out)[:1] if isinstance(out, (list, tuple)) else [out]
    outs = [o for o in outs if isinstance(o, torch.Tensor) and o.requires_grad]
    grads = [torch.randint(-9, 9, o.shape).double() for o in outs]
    wanted = leaves(args)
    with Log() as log:
        got = torch.autograd.grad(outs, wanted, grads, allow_unused=True)
    CASES.append([f"aten.{name}", encoded, {k: encode(v) for k, v in kwargs.items()}, encode(grads), log.calls, result(list(got))])


def d(*sizes):
    return f(*sizes).double() * 1.25 - 3


x, idx, col = d(3, 4), i(0, 2), torch.tensor([[0], [1], [1]])
mask = x % 2 > 0.7
one("view.default", x, [2, -1])
one("_unsafe_view.default", x, [12])
one("reshape.default", x.t(), [12])
one("reshape.default", d(4, 6)[:, :3], [2, 2, 3])
one("expand.default", d(1, 4), [3, 3, 4])
one("expand.default", d(1), [3])
one("expand.default", torch.tensor(2.0).double(), [3])
one("t.default", x)
one("transpose.int", d(2, 3, 4), 0, -1)
one("permute.default", d(2, 3, 4), [2, 0, -2])
one("squeeze.default", d(1, 3, 1))
one("squeeze.dim", d(1, 3, 1), -1)
one("squeeze.dim", d(1, 3, 1), 1)
one("squeeze.dims", d(1, 3, 1), [0, 2])
one("unsqueeze.default", x, -1)
one("select.int", x, -1, -2)
one("slice.Tensor", x, 1, None, None, 2)
one("slice.Tensor", x, 0, -2, 3)
one("diagonal.default", x, 1)
one("unfold.default", d(5, 4), 0, 3, 1)
one("as_strided.default", x, [2, 2], [1, 2], 1)
one("as_strided.default", x, [3, 2], [1, 1])
one("as_strided.default", x, [1, 3, 2], [9, 0, 2])
one("as_strided.default", d(2, 3).expand(2, 2, 3)[0], [2], [3])
one("split.Tensor", x, 3, -1)
one("split_with_sizes.default", x, [1, 3], 1)
one("unsafe_split.Tensor", x, 2, 0)
one("unbind.int", x, -1)
one("diagonal_copy.default", x, -1)
one("movedim.int", d(2, 3, 4), 0, -1)
one("flatten.using_ints", d(2, 3, 4), 1)
one("ravel.default", x.t())
one("slice_scatter.default", x, d(3, 2), 1, 1, 3)
one("select_scatter.default", x, d(3), 1, -1)
one("diagonal_scatter.default", x, d(3), 1)
one("slice_backward.default", d(2, 2), [2, 5], 1, 1, 9223372036854775807, 2)
one("select_backward.default", d(3), [3, 4], -1, -2)
one("diagonal_backward.default", d(2), [3, 4], -1, 0, 1)
one("unfold_backward.default", d(4, 4, 2), [5, 4], 0, 2, 1)
one("cat.default", [x, d(3, 2), d(0)], -1)
one("stack.default", [x, x * 2], -1)
one("hstack.default", [d(3), d(2)])
one("dstack.default", [x, x * 2])
one("column_stack.default", [d(3), d(3) * 2])
one("repeat.default", x, [2, 1, 2])
one("repeat.default", d(2, 3), [2, 0])
one("tile.default", x, [2])
one("repeat_interleave.self_int", x, 2, 1)
one("repeat_interleave.self_Tensor", x, i(1, 2, 1), 0)
one("flip.default", x, [0, -1])
one("roll.default", x, [1, 2], [0, 1])
one("roll.default", x, [3])
one("rot90.default", x, 1)
one("constant_pad_nd.default", x, [1, 1, 2, -1], 2.5)
one("diag.default", d(3), 1)
one("diag_embed.default", x, 1, 0, 2)
one("diagflat.default", x)
one("trace.default", d(3, 4))
one("block_diag.default", [x, d(2), torch.tensor(1.5).double()])
one("linalg_cross.default", d(2, 3), d(2, 3) * d(3))
one("tril.default", x, 1)
one("triu.default", x, -1)
one("meshgrid.indexing", [d(2), d(3)], indexing="xy")
one("cartesian_prod.default", [d(2), d(3)])
one("gather.default", x, 1, col)
one("scatter.src", x, 1, col, d(3, 1))
one("scatter.value", x, 1, col, 2.5)
one("scatter_add.default", x, 1, col, d(3, 1))
for reduce in ("sum", "mean", "prod", "amax", "amin"):
    for include in (True, False):
        one("scatter_reduce.two", d(3, 4) + 0.1, 0, torch.tensor([[0, 0, 1, 2], [0, 1, 1, 1]]), d(2, 4) * 2 - 5, reduce, include_self=include)
one("scatter_reduce.two", torch.tensor([2.0, 0.0, 3.0]).double(), 0, i(0, 1, 2, 2), torch.tensor([0.0, 4.0, 0.0, 0.0]).double(), "prod")
one("index_select.default", x, 1, i(1, 1, 3))
one("index_add.default", x, 0, i(0, 0), d(2, 4), alpha=2)
one("index_add.default", x, 0, i(0, 1), d(2, 4))
one("index_copy.default", x, 0, idx, d(2, 4))
one("index_fill.int_Scalar", x, 0, idx, 1.5)
one("index_fill.int_Tensor", x, 0, idx, torch.tensor(1.5).double())
one("take.default", x, i(1, 5, 5))
one("put.default", x, i(1, 5), d(2))
one("put.default", x, i(1, 1), d(2), True)
one("take_along_dim.default", x, torch.tensor([[0, 2]]), 1)
one("index.Tensor", x, [idx])
one("index.Tensor", x, [None, i(1, 1)])
one("index.Tensor", x, [mask])
one("_unsafe_index.Tensor", x, [None, i(1, 1)])
one("index_put.default", x, [idx], d(4))
one("index_put.default", x, [idx, i(1, 3)], d(2), True)
one("index_put.default", x, [mask], torch.tensor(1.5).double())
one("masked_select.default", x, mask)
one("masked_select.default", d(4), mask)
one("masked_scatter.default", x, mask, d(12))
one("masked_scatter_backward.default", x, mask, [12])
y = torch.tensor([[3.0, 1.0, 2.0], [7.0, -1.0, 5.0]]).double()
one("sort.default", y, 0)
one("sort.stable", y, stable=True, dim=-1, descending=True)
one("topk.default", y, 2, -1)
one("kthvalue.default", y, 2, -1)
one("kthvalue.default", y, 1, 0, True)
one("mode.default", y, -1)
one("msort.default", y)

if __name__ == "__main__":
    with open(sys.argv[1], "w") as out:
        lines = [",\n".join(json.dumps(v, separators=(",", ":")) for v in part) for part in (TENSORS, CASES)]
        out.write('{"tensors": [\n' + lines[0] + '\n], "cases": [\n' + lines[1] + "\n]}\n")
    print(len(CASES))
