"""Writes draws.json: sequences of random calls and what PyTorch 2.15 draws, for draws.rs.

A sequence starts from a seed; every call is [operator, arguments...]; tensors are made empty of [dtype, sizes, strides].
"""
import json
import sys

import torch

aten = torch.ops.aten
sequences = []


def build(v):
    if isinstance(v, dict) and "empty" in v:
        dtype, sizes, strides = v["empty"]
        t = torch.empty_strided(sizes, strides, dtype=getattr(torch, dtype))
        return t
    if isinstance(v, dict) and "values" in v:
        return torch.tensor(v["values"], dtype=getattr(torch, v.get("dtype", "float32")))
    return v


def run(seed, *calls):
    torch.manual_seed(seed)
    out = []
    for name, *args in calls:
        op = aten
        for part in name.split("."):
            op = getattr(op, part)
        kwargs = {}
        if args and isinstance(args[-1], dict) and "kw" in args[-1]:
            kwargs = {k: getattr(torch, v) for k, v in args.pop()["kw"].items()}
        made = op(*[build(a) for a in args], **kwargs)
        made = made if isinstance(made, tuple) else (made,)
        for t in made:
            values = t.detach().double().reshape(-1).tolist()
            out.append([str(t.dtype)[6:], [float(f"{v:.17g}") for v in values]])
    sequences.append([seed, [list(c) for c in calls], out, sum(torch.get_rng_state().tolist())])


def empty(dtype, sizes, strides=None):
    strides = strides or list(torch.empty(sizes).stride())
    return {"empty": [dtype, sizes, strides]}


for n in (1, 2, 3, 7, 15, 16, 17, 24, 31, 32, 33, 40):
    for dtype in ("float32", "float64"):
        run(n, ["randn", [n], {"kw": {"dtype": dtype}}], ["randn", [3], {"kw": {"dtype": dtype}}], ["rand", [n], {"kw": {"dtype": dtype}}])
        if n in (3, 17, 33):
            for name, args in [("uniform_", [-1.0, 2.5]), ("normal_", [1.0, 0.5]), ("exponential_", [2.0]), ("bernoulli_.float", [0.3]), ("log_normal_", []), ("cauchy_", []), ("geometric_", [0.4]), ("random_", []), ("random_.to", [10]), ("random_.from", [-3, 4])]:
                run(n, [name, empty(dtype, [n]), *args])
for dtype in ("float16", "bfloat16"):
    run(5, ["randn", [35], {"kw": {"dtype": dtype}}], ["rand", [5], {"kw": {"dtype": dtype}}])
for name, args in [("uniform_", []), ("normal_", []), ("bernoulli_.float", [0.5])]:
    for dtype in ("float32", "float64"):
        run(3, [name, empty(dtype, [3, 4], [1, 3]), *args], ["rand", [2]])
        run(3, [name, empty(dtype, [6, 5], [1, 6]), *args], ["rand", [2]])
        run(3, [name, empty(dtype, [4, 5], [10, 2]), *args])
        run(3, [name, empty(dtype, [2, 3, 4], [1, 8, 2]), *args])
run(0, ["randint", 10, [20]], ["randint.low", -5, 1 << 40, [6]], ["randint.low", 0, 300000000, [4]], ["randperm", 12], ["randperm", 1])
run(1, ["randint", 10, [4], {"kw": {"dtype": "float32"}}], ["randperm", 5, {"kw": {"dtype": "int32"}}])
P = {"values": [[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]]}
run(2, ["multinomial", P, 3, True], ["multinomial", P, 2], ["multinomial", P, 1], ["bernoulli", P], ["bernoulli_.Tensor", empty("float32", [2, 4]), P])
run(2, ["bernoulli_.Tensor", empty("float32", [2, 4], [1, 2]), P], ["bernoulli_.Tensor", empty("int64", [2, 4]), {"values": [0.2, 0.5, 0.9, 1.0], "dtype": "float64"}])
run(4, ["normal.Tensor_float", P, 0.5], ["normal.float_Tensor", 1.0, P], ["normal.Tensor_Tensor", P, P], ["normal.float_float", 0.0, 2.0, [18]])
run(4, ["native_dropout", P, 0.3, True], ["dropout", P, 0.5, True], ["feature_dropout", P, 0.5, True], ["alpha_dropout", P, 0.5, True], ["dropout", P, 0.5, False])
run(6, ["random_", empty("int64", [3])], ["random_", empty("bool", [6])], ["random_", empty("uint8", [4])], ["random_.from", empty("int32", [3]), 5, None])
run(7, ["rand_like", P], ["randn_like", P], ["randint_like", P, 9])
for dtype in ("float32", "float64"):
    RATES = {"values": [[0.0, 0.4, 3.5, 9.9, 10.0, 25.5, 400.0, 1e5]] * 4, "dtype": dtype}
    SHAPES = {"values": [[0.05, 0.3, 0.9, 1.0, 2.5, 7.0, 40.0, 1e4]] * 6, "dtype": dtype}
    COUNTS = {"values": [[0.0, 5.0, 12.0, 40.0, 100.0, 1000.0]] * 4, "dtype": dtype}
    for p in (0.0, 0.1, 0.5, 0.73, 1.0):
        run(8, ["binomial", COUNTS, {"values": [[p] * 6] * 4, "dtype": dtype}], ["rand", [1]])
    run(8, ["poisson", RATES], ["poisson", RATES], ["_standard_gamma", SHAPES], ["_sample_dirichlet", SHAPES], ["rand", [2]])
    for training in (True, False):
        run(9, ["rrelu", {"values": [[-1.0, 2.0, -0.5], [0.0, -3.0, 1.0]], "dtype": dtype}, 0.1, 0.4, training], ["rand", [1]])
run(123456789012345, ["rand", [3]], ["randn", [700]])

if __name__ == "__main__":
    with open(sys.argv[1], "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(s, separators=(",", ":")) for s in sequences) + "\n]\n")
    print(len(sequences))
