"""Writes answers.json: operator calls and what PyTorch 2.15 answers, for answers.rs.

Every call is made on contiguous tensors and, where `views` says so, on strided views of the same values.
"""
import json
import math
import sys

import torch

aten = torch.ops.aten
cases = []


def number(v):
    if isinstance(v, float) and not math.isfinite(v):
        return {"float": "nan" if math.isnan(v) else "inf" if v > 0 else "-inf"}
    if isinstance(v, float):
        return {"float": v}
    return v


def tensor(t):
    flat = t.detach().contiguous().reshape(-1)
    values = flat.double().tolist() if t.is_floating_point() else flat.long().tolist()
    compact = [number(float(f"{v:.9g}") if t.dtype != torch.float64 else float(f"{v:.13g}")) if isinstance(v, float) else v for v in values]
    compact = [v["float"] if isinstance(v, dict) else v for v in compact]
    return {"tensor": [str(t.dtype)[6:], list(t.shape), list(t.stride()), compact]}


def encode(v):
    if isinstance(v, torch.Tensor):
        return tensor(v)
    if isinstance(v, (list, tuple)):
        return [encode(x) for x in v]
    if isinstance(v, torch.dtype):
        return {"dtype": str(v)[6:]}
    if isinstance(v, torch.memory_format):
        return {"format": str(v)}
    if isinstance(v, str):
        return {"str": v}
    return number(v)


def case(name, *args, **kwargs):
    op = aten
    for part in name.split("."):
        op = getattr(op, part)
    given = [encode(a) for a in args], {k: encode(v) for k, v in kwargs.items()}
    work = [a.clone(memory_format=torch.preserve_format) if isinstance(a, torch.Tensor) and name.split(".")[0].endswith("_") else a for a in args]
    out = op(*work, **kwargs)
    cases.append([name, *given, encode(out)])


torch.manual_seed(0)
A = torch.tensor([[0.3, -1.2, 2.5], [0.0, 0.75, -3.5]])
B = torch.tensor([[1.5, 0.25, -2.0], [3.0, -0.5, 0.75]])
UNIT = torch.tensor([[0.3, -0.2, 0.9], [0.01, 0.75, -0.5]])
POS = torch.tensor([[0.3, 1.2, 2.5], [0.5, 0.75, 3.5]])
I = torch.tensor([[3, -2, 0], [7, 5, -9]])
J = torch.tensor([[2, 3, 4], [-3, 2, -4]])
BOOL = torch.tensor([[True, False, True], [False, False, True]])
ROW = torch.tensor([2.0, -1.0, 0.5])
ODD = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0])


def views(*tensors):
    yield tensors
    yield tuple(t.t() for t in tensors)
    yield tuple(torch.stack([t, t], -1)[..., 0] for t in tensors)


UNARY = "neg abs exp exp2 expm1 sin cos tan atan sinh cosh tanh asinh sigmoid relu floor ceil trunc round frac sign sgn silu mish hardswish hardsigmoid erf erfc isnan isinf isposinf isneginf isfinite logical_not signbit selu relu6 square rad2deg deg2rad sinc i0 special_i1 nan_to_num log_sigmoid".split()
for name in UNARY:
    for (x,) in views(A):
        case(name, x)
    case(name, A.double())
    if name not in ("isposinf", "isneginf"):
        case(name, ODD)
    if name not in ("frac", "silu", "mish", "hardswish", "hardsigmoid", "selu", "relu6", "log_sigmoid"):
        case(name, I)
    case(name, A.half())
for name in "log log2 log10 log1p sqrt rsqrt reciprocal lgamma digamma special_entr".split():
    case(name, POS)
    case(name, POS.t())
    case(name, POS.double())
    case(name, ODD)
for name in "asin acos atanh erfinv logit".split():
    case(name, UNIT)
    case(name, UNIT.double())
    case(name, ODD)
case("acosh", POS + 1)
case("polygamma", 1, POS)
case("polygamma", 2, POS.double())
case("round.decimals", A * 3.21987, decimals=2)
case("bitwise_not", I)
case("bitwise_not", BOOL)
case("logit", UNIT, 0.1)
case("nan_to_num", ODD, 1.0, 2.0, -3.0)
for mode in ("none", "tanh"):
    case("gelu", A, approximate=mode)
    case("gelu_backward", B, A, approximate=mode)
for name, extra in {"elu": [(), (0.5,), (1.6, 1.05, 1)], "celu": [(), (0.7,)], "leaky_relu": [(), (0.3,)], "softplus": [(), (2, 1)], "hardtanh": [(), (0, 6), (-2.0, 2.0)],
                    "threshold": [(0.1, 20)], "hardshrink": [(), (1.0,)], "softshrink": [(), (1.0,)]}.items():
    for e in extra:
        case(name, A, *e)
for name, extra in {"tanh_backward": [()], "sigmoid_backward": [()], "silu_backward": [()], "mish_backward": [()], "hardswish_backward": [()], "hardsigmoid_backward": [()],
                    "threshold_backward": [(0,), (0.5,)], "leaky_relu_backward": [(0.1, False)], "softplus_backward": [(1, 20), (2, 1)], "hardtanh_backward": [(-1, 1)], "logit_backward": [(), (0.1,)]}.items():
    for e in extra:
        for g, x in views(B, UNIT):
            case(name, g, x, *e)
        case(name, B.double(), UNIT.double(), *e)
case("elu_backward", B, 1.5, 1, 1, False, A)
case("elu_backward", B, 1.5, 1, 1, True, A)
case("log_sigmoid_backward", B, A, torch.exp(-A.abs()))
case("glu", torch.cat([A, B], 1), 1)
case("glu", torch.cat([A, B], 0).t(), -1)
case("glu_backward", B, torch.cat([A, B], 1), 1)
case("prelu", A, torch.tensor([0.1, 0.2, 0.3]))
case("prelu", A, torch.tensor([0.1]))
case("_prelu_kernel_backward", B, A, torch.tensor([[0.1, 0.2, 0.3]]))
for args in [(0, 1), (-0.5,), (None, 0.5), (1, 0)]:
    case("clamp", A, *args)
    case("clamp", ODD, *args)
case("clamp", I, -1, 4)
case("clamp", I, 0.5)
case("clamp.Tensor", A, B, None)
case("clamp.Tensor", A, ROW - 1, ROW)
case("clamp_min", A, 0.2)
case("clamp_max.Tensor", A, B)

for name in "add sub mul div".split():
    for x, y in views(A, B):
        case(name + ".Tensor", x, y)
    for y in (ROW, torch.tensor([[2.0], [3.0]]), torch.tensor(2.0), torch.tensor(2.0, dtype=torch.float64), B.double(), J, B.half(), BOOL if name != "sub" else J):
        case(name + ".Tensor", A, y)
    case(name + ".Tensor", I, J)
    case(name + ".Scalar", A, 2)
    case(name + ".Scalar", I, 2)
    case(name + ".Scalar", I, 2.5)
    case(name + "_.Tensor", A, ROW)
    case(name + ".Tensor", torch.tensor([200, 100], dtype=torch.uint8), torch.tensor([100, 3], dtype=torch.uint8))
case("add.Tensor", BOOL, BOOL.flip(0))
case("mul.Tensor", BOOL, BOOL.flip(0))
case("add.Tensor", A, B, alpha=2)
case("sub.Tensor", A, B, alpha=0.5)
case("rsub.Scalar", A, 1.5)
case("rsub.Tensor", A, B, alpha=2)
for mode in (None, "floor", "trunc"):
    case("div.Tensor_mode", A, B, rounding_mode=mode)
    case("div.Tensor_mode", I, J, rounding_mode=mode)
    case("div.Scalar_mode", A, 0.7, rounding_mode=mode)
case("div.Tensor", ODD, torch.zeros(6))
case("floor_divide", A, B)
case("floor_divide", I, J)
for name in ("remainder", "fmod"):
    case(name + ".Tensor", A, B)
    case(name + ".Tensor", I, J)
    case(name + ".Scalar", A, -0.7)
    case(name + ".Scalar", I, 4)
for e in (0, 1, 2, 3, 0.5, -0.5, -1, -2, 2.5, 4):
    case("pow.Tensor_Scalar", POS, e)
    case("pow.Tensor_Scalar", A, e)
case("pow.Tensor_Scalar", I, 3)
case("pow.Tensor_Tensor", POS, B)
case("pow.Tensor_Tensor", I, J.abs())
case("pow.Scalar", 2, A)
case("pow.Scalar", 2.5, B)
case("float_power.Tensor_Scalar", A, 2)
for name in "maximum minimum fmax fmin".split():
    case(name, A, B)
    case(name, ODD, ODD.flip(0))
    case(name, I, J)
for name in "atan2 hypot copysign.Tensor logaddexp logaddexp2".split():
    for x, y in views(A, B):
        case(name, x, y)
case("copysign.Scalar", A, -2.0)
case("xlogy.Tensor", A, POS)
case("xlogy.Scalar_Self", 2.0, POS)
case("xlogy.Scalar_Other", A, 2.0)
case("heaviside", A, B)
for name in "eq ne lt le gt ge".split():
    case(name + ".Tensor", A, A.flip(1))
    case(name + ".Tensor", I, A)
    case(name + ".Scalar", A, 0.3)
    case(name + ".Scalar", I, 3)
    case(name + ".Tensor", ODD, ODD.flip(0))
    case(name + ".Tensor", A.t(), B.t())
for name in "logical_and logical_or logical_xor".split():
    case(name, A, I)
    case(name, BOOL, BOOL.flip(0))
for name in "bitwise_and bitwise_or bitwise_xor".split():
    case(name + ".Tensor", I, J)
    case(name + ".Tensor", BOOL, BOOL.flip(0))
    case(name + ".Scalar", I, 6)
case("bitwise_left_shift.Tensor", I, J.abs())
case("bitwise_right_shift.Tensor_Scalar", I, 1)
case("lerp.Scalar", A, B, 0.3)
case("lerp.Scalar", A, B, 0.8)
case("lerp.Tensor", A, B, POS)
case("addcmul", A, B, POS, value=2)
case("addcmul", A, ROW, POS)
case("addcdiv", A, B, POS, value=0.5)
case("where.self", BOOL, A, B)
case("where.self", BOOL.t(), A.t(), B.t())
case("where.self", BOOL[0], A, torch.tensor(1.0, dtype=torch.float64))
case("where.ScalarOther", BOOL, A, 0)
case("where.ScalarOther", BOOL, I, 0.5)
case("where.ScalarSelf", BOOL, -1.0, A)
case("where.Scalar", BOOL, 1, 0)
case("masked_fill.Scalar", A, BOOL, 9.0)
case("masked_fill.Scalar", A.t(), BOOL.t(), -float("inf"))
case("masked_fill.Tensor", A, BOOL[0], torch.tensor(4.0))
case("masked_fill_.Scalar", A, BOOL, 9.0)
case("isclose", A, A + torch.tensor([0.0, 1e-9, 1e-3]))
case("isclose", ODD, ODD, equal_nan=True)
case("allclose", A, A + 1e-9)
case("equal", A, A.clone())
case("item", torch.tensor(2.5))
case("item", torch.tensor([[3]]))
case("is_nonzero", torch.tensor(0.0))

for args in [(5,), (5.5,), (0,)]:
    case("arange", *args)
for args in [(1, 7), (0.5, 3), (-2, 2.5)]:
    case("arange.start", *args)
for args in [(1, 10, 3), (1.0, 0.0, -0.25), (10, 1, -4)]:
    case("arange.start_step", *args)
case("arange", 4, dtype=torch.float64)
for args in [(0, 1, 5), (3, 10, 4), (-1.5, 1.5, 7), (2, 3, 1), (0, 1, 0)]:
    case("linspace", *args)
case("logspace", 0, 2, 5)
case("logspace", -1, 1, 3, 2.0)
case("zeros", [2, 3])
case("ones", [2], dtype=torch.int64)
case("full", [2, 2], 3)
case("full", [2, 2], 2.5)
case("full", [2], True)
case("eye", 3)
case("eye.m", 2, 3, dtype=torch.int64)
case("scalar_tensor", 3)
case("zeros_like", A.t())
case("ones_like", A[:, ::2])
case("full_like", I, 7)
case("zeros_like", A.expand(2, 2, 3))
case("zeros_like", A.t(), memory_format=torch.contiguous_format)
case("new_zeros", A, [3])
case("new_full", I, [2], 4)
case("new_ones", A, [2, 2], dtype=torch.float64)
for k in (-1, 0, 1):
    case("tril_indices", 3, 4, k)
    case("triu_indices", 4, 3, k)
case("clone", A.t())
case("clone", A.t(), memory_format=torch.contiguous_format)
case("clone", A.expand(2, 2, 3))
case("clone", torch.arange(24.0).reshape(1, 2, 3, 4), memory_format=torch.channels_last)
case("_to_copy", A, dtype=torch.int64)
case("_to_copy", I, dtype=torch.bool)
case("_to_copy", A.t(), dtype=torch.float64)
case("_to_copy", A, dtype=torch.float16)
case("_to_copy", A * 100, dtype=torch.bfloat16)
case("_to_copy", torch.tensor([-1.5, 300.0]), dtype=torch.uint8)
case("copy", A, ROW)
case("copy_", A, I)
case("copy_", A.t(), torch.tensor([[1.0], [2.0], [3.0]]))
case("fill.Scalar", A.t(), 2)
case("fill_.Tensor", I, torch.tensor(4))
case("zero_", A)
case("contiguous", A.t())
case("type_as", A, I)

for x in (A, A.t(), A.double(), I, A.half(), torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)):
    for name in "sum mean prod var.correction std.correction max min amax amin all any nansum".split():
        if x.dtype == torch.int64 and name in ("mean", "var.correction", "std.correction"):
            continue
        case(name, x)
    for d in ([0], [1], [-1], [0, 1], []):
        for keep in (False, True):
            case("sum.dim_IntList", x, d, keep)
            case("amax", x, d, keep)
            if x.dtype != torch.int64:
                case("mean.dim", x, d, keep)
                case("var.correction", x, d, correction=0, keepdim=keep)
                case("linalg_vector_norm", x, 2, d, keep)
                case("logsumexp", x, d or [0], keep)
    for d in (0, -1):
        for name in "max.dim min.dim argmax argmin all.dim any.dim prod.dim_int median.dim cumsum cumprod cummax cummin".split():
            case(name, x, d)
        case("max.dim", x, d, True)
        case("aminmax", x, dim=d)
    case("argmax", x)
    case("median", x)
    case("count_nonzero", x)
    case("aminmax", x)
case("sum", BOOL)
case("sum", torch.zeros(0, 3))
case("sum.dim_IntList", torch.zeros(0, 3), [0])
case("mean", torch.zeros(0))
case("prod", torch.zeros(0))
case("sum", A, dtype=torch.float64)
case("sum.dim_IntList", I, [1], dtype=torch.float32)
case("sum", torch.arange(1000.0) * 0.1)
case("max", ODD)
case("min.dim", ODD, 0)
case("argmax", ODD)
case("amax", torch.tensor([1.0, float("nan"), 3.0]))
case("nansum", torch.tensor([[1.0, float("nan")], [2.0, 3.0]]), [1])
case("nanmean", torch.tensor([[1.0, float("nan")], [2.0, 3.0]]), [1])
case("nanmedian", torch.tensor([1.0, float("nan"), 3.0, 2.0]))
case("median", torch.tensor([1.0, float("nan"), 3.0, 2.0]))
case("mode", torch.tensor([[1, 2, 2, 3, 3], [5, 4, 4, 5, 1]]))
for p in (0, 0.5, 1, 1.5, 2, 3, math.inf, -math.inf):
    case("linalg_vector_norm", A, p)
    case("norm.Scalar", A, p)
    case("linalg_vector_norm", A, p, [1])
case("linalg_norm", A)
case("linalg_norm.ord_str", A, "fro")
for name in "var_mean.correction std_mean.correction".split():
    case(name, A, [1], correction=1)
case("var", A)
case("std.dim", A, [1], False)
case("var_mean.dim", A, [0])
case("dist", A, B)
case("dist", A, ROW, 1)
case("logcumsumexp", A, 1)
case("renorm", A, 2, 0, 1.0)
case("sum_to_size", A, [1, 3])
case("sum_to_size", A, [3])
case("logsumexp", torch.tensor([-math.inf, -math.inf]), [0])
case("sum", torch.tensor(2.5))
case("max.dim", torch.tensor(2.5), 0)
case("cumsum", torch.tensor(2.5), 0)
case("cumsum", BOOL, 1)

if __name__ == "__main__":
    with open(sys.argv[1], "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
    print(len(cases))
