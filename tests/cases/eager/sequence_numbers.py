import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.traceback import preserve_node_meta
from torch._functorch.aot_autograd import aot_export_module, aot_export_joint_simple, aot_function, make_boxed_func
from torch import nn
def f(x, w):
    y = torch.tanh(x @ w).relu().exp()
    z = (y * 2).sum()
    return torch.autograd.grad(z, [x, w])
x = torch.randn(2, 3, requires_grad=True); w = torch.randn(3, 3, requires_grad=True)
def show(gm):
    ns = [n for n in gm.graph.nodes if "seq_nr" in n.meta]
    if not ns: print("none", sorted({k for n in gm.graph.nodes for k in n.meta})); return
    b = min(n.meta["seq_nr"] for n in ns)
    for n in ns: print(n.meta["seq_nr"] - b, n.op, n.name, n.meta.get("original_aten"), n.meta.get("partitioner_tag"))
with preserve_node_meta():
    show(make_fx(f)(x, w))
show(make_fx(f)(x, w))
with preserve_node_meta(), torch.autograd.detect_anomaly(check_nan=False):
    show(make_fx(f, tracing_mode="fake")(x, w))
def g(x, w):
    return torch.sigmoid(x @ w).softmax(-1), (x * 2).detach()
with preserve_node_meta():
    show(aot_export_joint_simple(g, (x, w), trace_joint=True))
class M(nn.Module):
    def __init__(s):
        super().__init__(); s.l = nn.Linear(3, 2); s.b = nn.BatchNorm1d(2)
    def forward(s, x, t):
        return (nn.functional.mse_loss(torch.sigmoid(s.b(s.l(x))), t),)
with preserve_node_meta(), torch.autograd.detect_anomaly(check_nan=False):
    gm, sig = aot_export_module(M(), (x.detach(), torch.ones(2, 2)), trace_joint=True, output_loss_index=0)
show(gm)
def c(name):
    def comp(gm, _):
        print(name); show(gm); return make_boxed_func(gm.forward)
    return comp
o = aot_function(g, c("fw"), c("bw"))(x, w)
o[0].sum().backward()
