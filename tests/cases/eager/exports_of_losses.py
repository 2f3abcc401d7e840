import torch
from torch import nn
from torch._functorch.aot_autograd import aot_export_module, aot_export_joint_simple
class M(nn.Module):
    def __init__(s):
        super().__init__(); s.l = nn.Linear(3, 2); s.bn = nn.BatchNorm1d(2); s.register_buffer("c", torch.zeros(1))
    def forward(s, x, t):
        s.c += 1
        y = s.bn(s.l(x))
        return ((y - t) ** 2).mean(), y.detach()
torch.manual_seed(0)
x, t = torch.randn(4, 3), torch.randn(4, 2)
gm, sig = aot_export_module(M(), (x, t), trace_joint=False)
print(sig); print(gm.code)
gm, sig = aot_export_module(M(), (x, t), trace_joint=True, output_loss_index=0)
print(sig.parameters, sig.buffers, sig.user_inputs, sig.user_outputs, sig.buffers_to_mutate, sig.backward_signature)
print([n.name for n in gm.graph.nodes])
for k in (dict(trace_joint=True), dict(trace_joint=True, output_loss_index=1), dict(trace_joint=False, output_loss_index=0), dict(trace_joint=True, output_loss_index=5)):
    try: aot_export_module(M(), (x, t), **k); print("ok", k)
    except Exception as e: print(type(e).__name__, str(e)[:500])
class One(nn.Module):
    def forward(s, x): return x * 2
for mod, a in ((One(), (x,)),):
    try: aot_export_module(mod, a, trace_joint=False); print("ok")
    except Exception as e: print(type(e).__name__, str(e)[:300])
def f(a, b): return a @ b, (a * 2).sum()
a, b = torch.randn(2, 3, requires_grad=True), torch.randn(3, 2, requires_grad=True)
g = aot_export_joint_simple(f, (a, b), trace_joint=False); print(g.code)
g = aot_export_joint_simple(f, (a, b), trace_joint=True); print(g.code)
for fn in (lambda a, b: (a.mul_(2), b), lambda a, b: (a, b), lambda a, b: (a.view(-1), b + 1), lambda a, b: a.sum(), lambda a, b: {"x": a + b.t()}, lambda a, b: (a[0], a[1])):
    for tj in (False, True):
        try: r = aot_export_joint_simple(fn, (a.detach(), b.detach()) if not tj else (a, b), trace_joint=tj); print("ok", [n.name for n in r.graph.nodes])
        except Exception as e: print(type(e).__name__, str(e)[:260])
