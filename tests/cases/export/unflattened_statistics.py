import torch, copy
from torch import nn
from torch.export import export, unflatten, Dim, ExportedProgram, ModuleCallEntry, ModuleCallSignature, draft_export
from torch.export.graph_signature import *
class Sub(nn.Module):
    def __init__(s, d):
        super().__init__(); s.w = nn.Parameter(torch.eye(d)); s.register_buffer("m", torch.zeros(d))
    def forward(s, x):
        s.m.mul_(0.9).add_(x.mean(0), alpha=0.1)
        return x @ s.w - s.m
class Net(nn.Module):
    def __init__(s):
        super().__init__(); s.subs = nn.ModuleList([Sub(3), Sub(3)]); s.act = nn.GELU(approximate="tanh"); s.head = nn.Linear(3, 2)
    def forward(s, x, scale=1.0):
        for i, m in enumerate(s.subs):
            x = s.act(m(x)) * scale
        return {"logits": s.head(x), "feat": x}
torch.manual_seed(0); torch.set_grad_enabled(False)
net = Net(); x = torch.randn(4, 3)
ep = export(net, (x,), dynamic_shapes={"x": {0: Dim.AUTO}})
u = unflatten(ep)
a = u(x); b = net(x)
print({k: torch.allclose(a[k], b[k], atol=1e-6) for k in a}, torch.allclose(u.subs[0].m if hasattr(u.subs, "__getitem__") else u.get_submodule("subs.0").m, net.subs[0].m))
print([n for n, _ in u.named_modules(remove_duplicate=False)])
print(u.get_submodule("subs.1").graph)
u.print_readable()
d = ep.run_decompositions()
ud = unflatten(d)
print([n.target if isinstance(n.target, str) else str(n.target) for n in ud.get_submodule("subs.0").graph.nodes])
print(d.graph_signature.buffers_to_mutate)
print(torch.allclose(ud(x)["logits"], u(x)["logits"], atol=1e-5))
m = ep.module()
for n in m.graph.nodes:
    if n.op == "call_function" and n.target is torch.ops.aten.gelu.default:
        n.target = torch.ops.aten.relu.default; n.kwargs = {}
m.recompile(); print(m(x)["feat"].min() >= 0)
print(ep.range_constraints, ep.example_inputs[0][0].shape, ep.call_spec.in_spec)
class Interp(torch.fx.Interpreter):
    def run_node(self, n):
        r = super().run_node(n); self.seen.append(n.name); return r
i = Interp(ep.module()); i.seen = []; i.run(x); print(i.seen)
print([ (n.name, tuple(n.meta["val"].shape)) for n in ep.graph.nodes if "val" in n.meta and hasattr(n.meta["val"], "shape")][-3:])
print(ep.graph_module.graph.find_nodes(op="call_function", target=torch.ops.aten.mul_.Tensor))
s = export(nn.Linear(2, 2), (torch.ones(1, 2),), strict=True); print(s.graph_module.code.strip().splitlines()[0])
for f in (lambda: u(torch.ones(4)), lambda: u(x, 2.0), lambda: u(x, scale=1.0), lambda: unflatten(ep)(x, 1.0)):
    try: print(type(f()).__name__)
    except Exception as e: print(type(e).__name__, str(e)[:200])
