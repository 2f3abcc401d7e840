import torch
from torch import nn
from torch.export import export, unflatten
from torch.export.unflatten import InterpreterModule, InterpreterModuleDispatcher


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2, bias=False)

    def forward(self, x, flip=False):
        y = self.lin(x)
        return y.flip(-1) if flip else y.tanh()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell()
        self.tail = nn.Sequential(nn.ReLU(), nn.Linear(2, 2))

    def forward(self, x):
        x = self.cell(x, False)
        x = self.cell(x, True)
        x = self.cell(x, False)
        return self.tail(x)


torch.manual_seed(1)
m = Net()
x = torch.randn(3, 2)
ep = export(m, (x,))
for e in ep.module_call_graph:
    print(e.fqn, e.signature is None)
u = unflatten(ep)
print([n for n, _ in u.named_modules(remove_duplicate=False)])
print([n.target for n in u.graph.nodes if n.op == "call_module"])
print(torch.equal(u(x), m(x)))
print(u.code if hasattr(u, "code") else "no code")

ep = export(m, (x,), preserve_module_call_signature=("cell", "tail"))
for e in ep.module_call_graph:
    if e.signature:
        print(e.fqn, e.signature.inputs, e.signature.outputs)
        print(e.signature.in_spec, e.signature.out_spec)
u = unflatten(ep)
print(type(u.cell).__name__, isinstance(u.cell, InterpreterModuleDispatcher), isinstance(u.tail, InterpreterModule))
print([n.target for n in u.graph.nodes if n.op == "call_module"])
print(len(u.cell.call_modules()))
u.cell.print_readable()
u.print_readable()
print(torch.equal(u(x), m(x)))


class Twice(nn.Module):
    def forward(self, x, flip):
        print("called", flip)
        return x * 2


u.cell = Twice()
print(torch.allclose(u(x), m.tail(x * 8)))
d = ep.run_decompositions()
for e in d.module_call_graph:
    if e.signature:
        print(e.fqn, e.signature.inputs, e.signature.outputs)
ud = unflatten(d)
print(torch.allclose(ud(x), m(x)))
print([n.op for n in ud.tail.graph.nodes])
for path in ("nothere", "cell.lin"):
    try:
        print([e.fqn for e in export(m, (x,), preserve_module_call_signature=(path,)).module_call_graph if e.signature])
    except Exception as e:
        print(type(e).__name__, e)
