"""Writes programs in PyTorch's files (`.pt2`), as a module of texts that a case imports."""

import base64
import contextlib
import io
import pathlib
import textwrap

import torch
from torch.export import Dim, export

PYTORCH = f"{pathlib.Path(torch.__file__).parent.parent}/"
HERE = f"{pathlib.Path(__file__).parent}/"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.fc = torch.nn.Conv1d(2, 3, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 2)
        self.register_buffer("scale", torch.tensor([2.0, 3.0]), persistent=False)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.shift = torch.tensor([0.5, -0.5])

    def forward(self, x):
        self.calls.add_(1)
        y = torch.relu(self.bn(self.conv(x))).mean(2)
        return {"out": self.fc(y) * self.scale + self.shift, "rows": [x.shape[0] * 2, 3, None]}


class Guarded(torch.nn.Module):
    def forward(self, x, y, *, scale):
        if x.shape[0] % 2 == 0:
            x = x * scale
        z = torch.cat([x, y])
        return z.view(x.shape[0] + y.shape[0], 1), x.shape[0] // 2


class Unbacked(torch.nn.Module):
    def forward(self, x):
        n = x.nonzero()
        torch._check(n.shape[0] >= 2)
        return n.float() * x.sum().item(), n.shape[0] * 2


class Branches(torch.nn.Module):
    def forward(self, x):
        y = torch.cond(x.sum() > 0, lambda x: (x.sin(), x + 1), lambda x: (x.cos(), x - 1), (x,))
        with torch.no_grad():
            z = y[0] * 2
        return torch.topk(y[1] + z, 2), x.to(torch.float64), x.masked_fill(x > 0, float("-inf"))


def programs():
    torch.manual_seed(0)
    x = torch.randn(3, 2, 5)
    net = export(Net(), (x,), dynamic_shapes={"x": {0: Dim("batch", min=2, max=16)}})
    yield "net", net
    yield "functional", net.run_decompositions()
    sizes = {"x": {0: Dim.AUTO}, "y": {0: Dim.AUTO}, "scale": None}
    yield "guarded", export(Guarded(), (torch.ones(8), torch.ones(6)), {"scale": 0.5}, dynamic_shapes=sizes)
    yield "unbacked", export(Unbacked(), (torch.tensor([1, 0, 2, 3]),))
    yield "branches", export(Branches(), (torch.randn(4, 4),))


def placeless(program):
    """Takes out of a program where its recording ran, and what PyTorch notes of itself."""
    for part in program.graph_module.modules():
        for node in getattr(part, "graph", torch.fx.Graph()).nodes:
            node.meta.pop("custom", None)
            for key, text in list(node.meta.items()):
                if isinstance(text, str):
                    node.meta[key] = text.replace(PYTORCH, "").replace(HERE, "")
    return program


print('"""Exported programs in PyTorch\'s files, recorded by tests/recorders/exported_programs.py."""\n\nFILES = {')
with contextlib.redirect_stderr(io.StringIO()):
    for name, program in programs():
        file = io.BytesIO()
        torch.export.save(placeless(program), file)
        text = base64.b64encode(file.getvalue()).decode()
        print(f'    "{name}": """')
        print(textwrap.fill(text, 140))
        print('    """,')
print("}")
