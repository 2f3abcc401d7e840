# What torch.jit.script takes runs as Python; a scripted module has attributes of its own.
import torch, torch.nn as nn
@torch.jit.script
def gelu(x):
    return x * 0.5 * (1.0 + torch.erf(x / 1.41421))
print(type(gelu).__name__, gelu.name, gelu(torch.ones(2)), isinstance(gelu, torch.jit.ScriptFunction), gelu.__name__ if hasattr(gelu, "__name__") else None)
class M(nn.Module):
    scale: float
    def __init__(self):
        super().__init__(); self.l = nn.Linear(2, 2); self.scale = 2.0; self.n = 0; self.b = nn.ModuleList([nn.ReLU()])
    def forward(self, x, k: int = 1):
        self.n += 1
        for m in self.b: x = m(x)
        return self.helper(self.l(x) * self.scale * k)
    def helper(self, x): return x + 1
    @torch.jit.export
    def extra(self, x): return x - 1
    @torch.jit.ignore
    def ig(self, x): return x
torch.manual_seed(0)
m = M(); s = torch.jit.script(m)
print(s)
print(type(s).__name__, s.original_name, isinstance(s, torch.jit.ScriptModule), isinstance(s, nn.Module), s.training)
with torch.no_grad():
    print(s(torch.ones(1, 2)), s(torch.ones(1, 2), k=2), s.n, m.n, s.scale, s.extra(torch.ones(1)), list(s.state_dict()))
print(s.l.weight is m.l.weight)
s.eval()
print(s.training, s.l.training, m.training)
print([n for n, _ in s.named_modules()], sum(p.numel() for p in s.parameters()))
s(torch.ones(1, 2)).sum().backward(); print(m.l.weight.grad)
print(repr(torch.jit.script(nn.ReLU())))
try: print(torch.compile(s)(torch.ones(1, 2)))
except Exception as e: print(type(e).__name__, str(e)[:100])
print(torch.compile(lambda x: gelu(x) * 2)(torch.ones(2)))
@torch.jit.script
def loop(x, n: int):
    r = []
    for i in range(n): r.append(x * i)
    return torch.stack(r), len(r)
print(loop(torch.ones(1), 3))
print(torch.jit.is_scripting(), torch.jit.script(gelu) is gelu)
print(torch.jit.script_if_tracing(lambda x: x * 2)(torch.ones(1)))
class My(torch.jit.ScriptModule):
    @torch.jit.script_method
    def forward(self, x): return x * 2
print(My()(torch.ones(1)))
