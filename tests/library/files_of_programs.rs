//! Files of exported programs and checkpoints that mean no good: every one is a program or an exception of Python's.

use super::script::report;

/// Random changes of a file's bytes and of what its JSON says: all that the script hears is a program, or an error.
const EDITS: &str = r#"
import io
import json
import random

import torch
from torch import _native_archive
from torch.serialization import archive, read_archive


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 2)
        self.register_buffer("seen", torch.zeros(2))

    def forward(self, x, scale):
        y = self.fc(x)
        self.seen.add_(y.sum(0))
        a, b = torch.split(y, [1, 1], 1)
        z = torch.cond(y.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (y,))
        return {"z": z * scale["s"], "n": x.shape[0] * 2, "a": a.to(torch.float64)}


dims = {"x": {0: torch.export.Dim("n", min=3, max=20)}, "scale": {"s": None}}
ep = torch.export.export(Model(), (torch.ones(4, 3), {"s": 2.0}), dynamic_shapes=dims)
file = io.BytesIO()
torch.export.save(ep, file)
good, random = file.getvalue(), random.Random(7)
records = read_archive(good)
told = json.loads(records["models/model.json"])
heard = {"read": 0, "refused": 0}


def attempt(data):
    try:
        program = torch.export.load(io.BytesIO(data))
        str(program)
        program.module()(torch.ones(4, 3), {"s": 2.0})
        program.run_decompositions()
        heard["read"] += 1
    except Exception as error:
        heard["refused"] += 1
        assert type(error).__name__ != "SystemError", error


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


ODD = [None, True, -1, 0, 1 << 40, 1 << 70, 1.5, "", "x", "torch.ops.aten.relu.default", "torch.ops.aten.eye.default", [], {}, [[]], "NaN",
       {"as_int": 3}, {"as_name": "x"}, {"as_tensor": {"name": "x"}}, {"as_expr": {"expr_str": "Pow(Symbol('s77'), Integer(99))", "hint": None}}]

for _ in range(60):
    data = bytearray(good)
    for _ in range(random.randrange(1, 4)):
        data[random.randrange(len(data))] = random.randrange(256)
    attempt(bytes(data))
    attempt(good[: random.randrange(len(good))])

paths = [path for path in places(told) if path]
for _ in range(120):
    changed = json.loads(records["models/model.json"])
    path = random.choice(paths)
    owner = changed
    for key in path[:-1]:
        owner = owner[key]
    if random.random() < 0.3 and isinstance(owner, dict):
        del owner[path[-1]]
    else:
        owner[path[-1]] = random.choice(ODD)
    attempt(archive({**records, "models/model.json": json.dumps(changed).encode()}))

for name in ("data/weights/model_weights_config.json", "data/sample_inputs/model.pt", "data/constants/model_constants_config.json"):
    for _ in range(20):
        data = bytearray(records[name])
        data[random.randrange(len(data))] = random.randrange(256)
        attempt(archive({**records, name: bytes(data)}))

deep = "Add(" * 5000 + "Integer(1)" + ")" * 5000
for text in (deep, "__import__('os')", "Symbol('s0'", "Integer(", "Add(Integer(1), Integer(2)) + 1", "lambda: 0"):
    changed = json.loads(records["models/model.json"])
    changed["graph_module"]["graph"]["sym_int_values"]["sym_size_int_1"] = {"as_expr": {"expr_str": text, "hint": None}}
    attempt(archive({**records, "models/model.json": json.dumps(changed).encode()}))
for code in ("__import__('os').getcwd()", "L['x'].size()[0] ** 9999 > 0", "(" * 5000, "L['y'].size()[0] > 1", "1 if"):
    changed = json.loads(records["models/model.json"])
    changed["guards_code"] = [code]
    attempt(archive({**records, "models/model.json": json.dumps(changed).encode()}))
print(heard["read"] > 20, heard["refused"] > 100)
"#;

#[test]
fn files_that_were_changed_are_programs_or_errors() {
    let report = report(EDITS);
    assert_eq!(report.stdout.trim(), "True True", "{}", report.stderr);
}

/// What a checkpoint may call is what makes tensors: a pickle that calls anything else is refused, without calling it.
const CALLS: &str = r#"
import io
import pickle

import torch
from torch.serialization import archive

called = []


class Calls:
    def __reduce__(self):
        return called.append, ("pickle",)


def records(data):
    return {"data.pkl": data, "byteorder": b"little", "version": b"3\n"}


def heard(data):
    try:
        return torch.load(io.BytesIO(archive(records(data))))
    except Exception as error:
        return type(error).__name__


for data in (b"cos\ngetcwd\n(tR.", b"cbuiltins\neval\n(X\x03\x00\x00\x001+1tR.", b"ctorch.hub\nload\n)R.", b"cbuiltins\ngetattr\n.", b"\x80\x02]q\x00(K\x01", b"", b"\x80\xff"):
    print(heard(data))
plain = {"data.pkl": b"\x80\x02(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x02tQ.", "version": b"3\n"}
for size in (0, 4, 8, 9):
    try:
        print(torch.load(io.BytesIO(archive({**plain, "data/0": bytes(size)}))))
    except Exception as error:
        print(type(error).__name__)
print(called)
"#;

#[test]
fn a_checkpoint_calls_nothing_but_what_makes_tensors() {
    let report = report(CALLS);
    let heard: Vec<&str> = report.stdout.lines().collect();
    assert_eq!(&heard[..4], ["UnpicklingError"; 4], "{heard:?}");
    assert!(heard[4..7].iter().all(|line| line.ends_with("Error")), "{heard:?}");
    assert_eq!(&heard[7..], ["RuntimeError", "RuntimeError", "tensor([0., 0.])", "UnpicklingError", "[]"], "{heard:?}");
}
