import torch, io
from torch import nn
from torch.export import export, Dim, default_decompositions
from torch._decomp import core_aten_decompositions, get_decompositions
import torch.nn.functional as F

def ops(ep): return [str(n.target) for n in ep.graph.nodes if n.op == "call_function"]

class L(nn.Module):
    def __init__(s):
        super().__init__(); s.a = nn.Linear(4, 6); s.b = nn.Linear(6, 2, bias=False)
    def forward(s, x):
        return s.b(F.gelu(s.a(x.transpose(0, 1)))), F.softmax(x, -1), F.layer_norm(x, (4,)), F.log_softmax(x, 0), x.std(0), x.var_mean(1) if hasattr(x, "var_mean") else x.var(1)
x = torch.randn(2, 3, 4)
ep = export(L(), (x,))
print(ops(ep)); print(ops(ep.run_decompositions())); print(ops(ep.run_decompositions({})))
print(ops(ep.run_decompositions(get_decompositions([torch.ops.aten.gelu, torch.ops.aten._softmax, torch.ops.aten.native_layer_norm]))))
print(ops(ep.run_decompositions(core_aten_decompositions())))
t = default_decompositions()
for o in (torch.ops.aten.linear.default, torch.ops.aten.gelu.default, torch.ops.aten.layer_norm.default):
    if o in t: del t[o]
print(ops(ep.run_decompositions(t)))
d = ep.run_decompositions()
print(ops(d) == ops(d.run_decompositions()))
print(d)

class C(nn.Module):
    def __init__(s):
        super().__init__(); s.c = nn.Conv2d(3, 4, 3, padding=1); s.bn = nn.BatchNorm2d(4); s.register_buffer("n", torch.zeros(2))
    def forward(s, x):
        h = F.relu6(s.bn(s.c(x))); s.n.add_(1)
        h = F.max_pool2d(h, 2); h = F.adaptive_avg_pool2d(h, 1).flatten(1)
        return F.dropout(h, 0.5, s.training), F.interpolate(x, scale_factor=2, mode="bilinear"), F.pad(x, (1, 1), mode="reflect")
x = torch.randn(2, 3, 8, 8)
m = C()
for tr in (True, False):
    m.train(tr)
    ep = export(m, (x,), dynamic_shapes={"x": {0: Dim("b")}})
    d = ep.run_decompositions()
    print(ops(d)); print(d.graph_signature); print(ops(ep.run_decompositions({})))
