import torch
from torch import nn
from torch.export import Dim, export


class Net(nn.Module):
    def forward(self, x, n: int, *rest, gain=2.0, **more):
        y = x * gain + n
        for r in rest:
            y = y + r
        return y + more["bias"].sum() - more["other"][0]


net = Net()
x, r = torch.ones(2, 3), torch.zeros(3)
ep = export(net, (x, 4, r, r + 1), {"other": [r, r], "bias": torch.ones(3)})
print(ep.graph_signature)
print(ep.graph_module.code.strip())
print(ep.module_call_graph[0].signature.forward_arg_names)
mod = ep.module()
print(mod.code.strip())
print(mod(x, 4, r, r + 1, bias=torch.ones(3), other=[r, r]))
for call in (lambda: mod(x, 5, r, r, bias=r, other=[r, r]), lambda: mod(x, 4, r, bias=r, other=[r, r])):
    try:
        call()
    except (AssertionError, ValueError) as e:
        print(type(e).__name__, str(e).splitlines()[0])
dynamic = export(net, (x, 4, r), {"bias": r, "other": [r]}, dynamic_shapes={"x": {0: Dim("b")}, "n": None, "rest": (None,), "more": {"bias": None, "other": [None]}})
print(dynamic.range_constraints)
for n in export(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), (x,)).graph.nodes:
    print(n.name, n.meta.get("nn_module_stack"))
draft = torch.export.draft_export(nn.Sequential(nn.ReLU()), (x,))
print(type(draft).__name__, draft._report.successful(), draft._report.failures, draft._report)
