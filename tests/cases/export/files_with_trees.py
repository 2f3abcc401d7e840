"""Programs in files whose inputs and outputs are dicts, lists and named tuples, with numbers among them, and with further files."""
import io
from collections import OrderedDict, namedtuple

import torch
from torch.utils._pytree import _register_namedtuple, treespec_dumps, treespec_loads, tree_structure

Pair = namedtuple("Pair", ["first", "second"])


class Trees(torch.nn.Module):
    def forward(self, batch, pairs, flag, *, scale=2.0, names=None):
        a, (b, c) = batch["a"], batch["more"]
        total = a + b * scale + c
        if flag:
            total = total + pairs[0].first
        return {"total": total, "parts": [a * 2, (b, 3, None)], "size": a.shape[0]}


torch.manual_seed(1)
given = {"a": torch.randn(3), "more": [torch.randn(3), torch.randn(3)]}
args = (given, [Pair(torch.ones(3), torch.zeros(3))], True)
ep = torch.export.export(Trees(), args, {"scale": 0.5})
file = io.BytesIO()
try:
    torch.export.save(ep, io.BytesIO())
except NotImplementedError as error:
    print(error)
_register_namedtuple(Pair, serialized_type_name=f"{Pair.__module__}.Pair")
extra = {"notes.txt": "some words", "more.json": "{}"}
torch.export.save(ep, file, extra_files=extra)
read = {"notes.txt": ""}
loaded = torch.export.load(file, extra_files=read)
print(read)
print(loaded)
print(loaded.call_spec.in_spec)
print(loaded.call_spec.out_spec)
out = loaded.module()(*args, scale=0.5)
print(out)
try:
    loaded.module()(given, args[1], False, scale=0.5)
except AssertionError as error:
    print(error)
try:
    loaded.module()(given, args[1], True)
except Exception as error:
    print(type(error).__name__, str(error)[:200])
for tree in ((1, [2, {"x": 3}]), OrderedDict(b=1, a=(2,)), 5, []):
    spec = tree_structure(tree)
    text = treespec_dumps(spec)
    print(text, treespec_loads(text) == spec)
try:
    treespec_dumps(tree_structure(namedtuple("Other", "x")(1)))
except NotImplementedError as error:
    print(str(error)[:60])
try:
    torch.export.save(Trees(), io.BytesIO())
except TypeError as error:
    print(error)
