"""Makes derivatives_pointwise.json: derivatives of pointwise operators, reductions, scans, copies and samplers; see derivatives.py."""

import json
import sys

import torch

from derivatives import CASES, TENSORS, one

CASES.clear()
TENSORS.clear()


def t(rows):
    return torch.tensor(rows, dtype=torch.float64)


A = t([[0.5, -1.25, 2.5], [0.25, 0.75, -3.5]])
B = t([[1.5, 0.25, -2.0], [3.0, -0.5, 0.75]])
U = t([[0.5, -0.25, 0.75], [0.125, 0.375, -0.5]])
P = t([[0.5, 1.25, 2.5], [0.25, 0.75, 3.5]])
TIES = t([[1.0, 2.0, 2.0], [3.0, 3.0, 1.0]])
ZEROS = t([[2.0, 0.0, 3.0, 0.5], [1.5, 2.0, 4.0, -1.0]])
ROW, COL, ONE = t([2.0, -1.0, 0.5]), t([[2.0], [3.0]]), t(1.5)
MASK = torch.tensor([[True, False, True], [False, False, True]])

for name in "neg abs exp exp2 expm1 sin cos tan atan sinh cosh tanh asinh sigmoid relu floor ceil trunc round frac sign square erf erfc sinc rad2deg deg2rad nan_to_num relu6 selu gelu elu celu leaky_relu softplus hardtanh hardswish hardsigmoid log_sigmoid glu clone positive".split():
    one(name + ".default", ZEROS if name == "glu" else A)
for name in "log log2 log10 log1p sqrt rsqrt reciprocal lgamma digamma special_entr i0".split():
    one(name + ".default", P)
for name in "asin acos atanh erfinv".split():
    one(name + ".default", U)
one("acosh.default", P + 1)
one("polygamma.default", 1, P)
one("round.decimals", A, decimals=1)
one("gelu.default", A, approximate="tanh")
one("elu.default", A, 1.5, 2.0, 0.5)
one("celu.default", A, 0.5)
one("threshold.default", A, 0.25, 20)
one("prelu.default", A, ROW)
one("prelu.default", A, t([0.25]))
one("clamp.default", A, 0, 1)
one("clamp.default", A, -0.5)
one("clamp.default", A, None, 0.5)
one("clamp.Tensor", TIES, TIES - 0.5, TIES.flip(1))
one("clamp.Tensor", TIES, t([[1.0, 1.0, 3.0], [2.0, 3.0, 2.0]]))
one("clamp.Tensor", TIES, None, t([[1.0, 1.0, 3.0], [2.0, 3.0, 2.0]]))
one("clamp_min.default", A, 0.5)
one("clamp_max.default", A, 0.5)
one("clamp_min.Tensor", A, B)
one("clamp_max.Tensor", TIES, TIES.flip(1))
one("tanh_backward.default", A, U)
one("sigmoid_backward.default", A, U)
one("threshold_backward.default", A, B, 0)
one("leaky_relu_backward.default", A, B, 0.1, False)
one("hardtanh_backward.default", A, B, -1, 1)

for other in (B, ROW, COL, ONE):
    for name in ("add", "sub", "mul", "div", "rsub"):
        one(name + ".Tensor", A, other)
for name in ("add", "sub", "rsub"):
    one(name + ".Tensor", A, B, alpha=2)
    one(name + ".Scalar", A, 1.5, 3)
one("mul.Scalar", A, 2.5)
one("div.Scalar", A, 2)
for mode in (None, "floor", "trunc"):
    one("div.Tensor_mode", A, B, rounding_mode=mode)
for e in (0, 1, 2, 3, 0.5, -1, 2.5):
    one("pow.Tensor_Scalar", P, e)
one("pow.Tensor_Tensor", P, B)
one("pow.Scalar", 2, A)
one("float_power.Tensor_Scalar", A, 2)
one("remainder.Tensor", A, B)
one("fmod.Tensor", A, B)
one("remainder.Scalar", A, 2)
one("fmod.Scalar", A, 2)
for name in ("maximum", "minimum", "fmax", "fmin"):
    one(name + ".default", TIES, TIES.flip(1))
one("max.other", A, B)
for name in ("atan2", "hypot", "logaddexp", "logaddexp2"):
    one(name + ".default", A, B)
one("copysign.Tensor", A, B)
one("copysign.Scalar", A, -2.0)
one("xlogy.Tensor", A, P)
one("xlogy.Scalar_Self", 2.0, P)
one("xlogy.Scalar_Other", A, 2.0)
one("lerp.Scalar", A, B, 0.25)
one("lerp.Tensor", A, B, U)
one("addcmul.default", A, B, P, value=2)
one("addcmul.default", A, ROW, COL)
one("addcdiv.default", A, B, P, value=0.5)
one("where.self", MASK, A, B)
one("where.ScalarOther", MASK, A, 0)
one("where.ScalarSelf", MASK, 1.5, A)
one("masked_fill.Scalar", A, MASK, 9.0)
one("masked_fill.Tensor", A, MASK, ONE)

for name in ("sum", "mean", "prod", "max", "min", "amax", "amin", "median", "nansum"):
    one(name + ".default", TIES)
one("prod.default", ZEROS)
one("sum.default", ONE)
for dims in ([0], [1], [-1], [0, 1], [], None):
    for keep in (False, True):
        one("sum.dim_IntList", A, dims, keep)
        one("mean.dim", A, dims, keep)
        one("var.correction", A, dims, correction=1, keepdim=keep)
        one("std.correction", A, dims, correction=0, keepdim=keep)
        one("linalg_vector_norm.default", A, 2, dims, keep)
        if dims is not None:
            one("amax.default", TIES, dims, keep)
            if dims:
                one("logsumexp.default", A, dims, keep)
for p in (0.5, 1, 1.5, 2, 3, float("inf")):
    one("linalg_vector_norm.default", A, p)
    one("norm.Scalar", A, p)
    one("linalg_vector_norm.default", A, p, [1])
one("var.default", A)
one("std.dim", A, [1], False)
one("var_mean.correction", A, [1])
one("std_mean.correction", A, [1])
one("aminmax.default", TIES)
one("aminmax.default", TIES, dim=1)
one("dist.default", A, B)
one("dist.default", A, B, 1)
one("prod.dim_int", ZEROS, 1)
one("prod.dim_int", ZEROS, 0, True)
for keep in (False, True):
    one("max.dim", A, 1, keep)
    one("median.dim", A, 0, keep)
one("cumsum.default", A, 1)
one("cumprod.default", ZEROS, 1)
one("logcumsumexp.default", A, 0)
one("cummax.default", A, 1)
one("cummin.default", A, 0)
one("sum_to_size.default", A, [1, 3])
one("nanmean.default", A, [1])

one("_to_copy.default", A, dtype=torch.float64)
one("fill.Scalar", A, 2)
one("fill.Tensor", A, ONE)
one("contiguous.default", A.t())
one("alias.default", A)
one("bernoulli.default", U.abs())
one("normal.Tensor_float", A, 0.5)
one("native_dropout.default", A, 0.0, True)
one("native_dropout.default", A, 0.5, False)

if __name__ == "__main__":
    with open(sys.argv[1], "w") as out:
        lines = [",\n".join(json.dumps(v, separators=(",", ":")) for v in part) for part in (TENSORS, CASES)]
        out.write('{"tensors": [\n' + lines[0] + '\n], "cases": [\n' + lines[1] + "\n]}\n")
    print(len(CASES))
