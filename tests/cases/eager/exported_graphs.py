"""`aot_export_module` and `aot_export_joint_simple`: graphs without a calling convention."""

import torch
from torch._functorch.aot_autograd import aot_export_module, aot_export_joint_simple
class M(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.l = torch.nn.Linear(2, 2); self.register_buffer("n", torch.zeros(1))
    def forward(self, x, y):
        self.n.add_(1)
        y.mul_(2)
        return self.l(x) + self.n + y, x.sin()
m = M()
a = (torch.randn(1, 2), torch.randn(2))
gm, sig = aot_export_module(m, a, trace_joint=False)
print(gm.code)
print(sig)
for k in ("parameters","buffers","user_inputs","user_outputs","inputs_to_parameters","inputs_to_buffers","buffers_to_mutate","user_inputs_to_mutate","in_spec","out_spec","backward_signature","input_tokens","output_tokens", "parameters_to_mutate"):
    print(k, getattr(sig, k, "absent"))
class N(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.l = torch.nn.Linear(2, 2); self.register_buffer("n", torch.zeros(1))
    def forward(self, x):
        out = self.l(x)
        return out.sum(), out.detach()
gm, sig = aot_export_module(N(), (torch.randn(1, 2),), trace_joint=True, output_loss_index=0)
print(gm.code)
print(sig.backward_signature, sig.user_outputs)
for fn in (lambda: aot_export_module(N(), (torch.randn(1, 2),), trace_joint=True),
           lambda: aot_export_module(M(), a, trace_joint=True, output_loss_index=0),
           lambda: aot_export_module(N(), (torch.randn(1, 2),), trace_joint=True, output_loss_index=5)):
    try: fn()
    except Exception as e: print(type(e).__name__, e)
def f(x, y):
    return (x @ y, x.sin())
gm = aot_export_joint_simple(f, [torch.randn(2, 3, requires_grad=True), torch.randn(3, 2)], trace_joint=True)
print(gm.code)
gm = aot_export_joint_simple(f, [torch.randn(2, 3), torch.randn(3, 2)], trace_joint=False)
print(gm.code)
def mut(x):
    x.add_(1); return (x * 2,)
def al(x): return (x.view(-1),)
for fn, args, j in ((mut, [torch.randn(2)], False), (al, [torch.randn(2)], False), (f, [torch.randn(2, 3), torch.randn(3, 2)], True), (lambda x: x + 1, [torch.randn(2)], False), (lambda x: ({"a": x + 1},), [torch.randn(2)], False)):
    try: print(aot_export_joint_simple(fn, args, trace_joint=j).code)
    except Exception as e: print(type(e).__name__, str(e)[:57])
