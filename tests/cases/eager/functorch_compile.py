"""AOTAutograd by the names of `functorch.compile`, and backends by name."""

import torch
from functorch.compile import aot_function, aot_module, aot_module_simplified, make_boxed_func, make_boxed_compiler, nop, print_compile, draw_graph, default_partition, min_cut_rematerialization_partition, memory_efficient_fusion, ts_compile, default_decompositions
def f(x, y):
    return (x.sin() * y).cos()
x, y = torch.randn(3, requires_grad=True), torch.randn(3)
aot_function(f, print_compile)(x, y).sum().backward()
aot_function(f, fw_compiler=print_compile, partition_fn=min_cut_rematerialization_partition)(x, y).sum().backward()
m = torch.nn.Linear(3, 2)
am = aot_module(m, fw_compiler=print_compile)
am(torch.randn(1, 3)).sum().backward()
print(type(am).__name__, [n for n, _ in am.named_parameters()], m.weight.grad is not None)
print(type(nop(None, None)))
b = make_boxed_func(f)
print(b._boxed_call, b([x, y]).shape)
def comp(gm, ex):
    print(type(gm).__name__, len(ex))
    print(gm.code)
    return make_boxed_func(gm.forward)
import torch._dynamo
from torch._dynamo.backends.common import aot_autograd
be = aot_autograd(fw_compiler=comp, bw_compiler=comp)
torch.compile(f, backend=be)(x, y).sum().backward()
c = aot_function(f, fw_compiler=comp)
print(type(c).__name__, getattr(c, "__name__", None))
c(x, y); c(x, y)
mf = memory_efficient_fusion(f)
try:
    print(mf(x, y).shape)
except Exception as e: print(type(e).__name__, str(e)[:200])
print(torch._dynamo.list_backends())
from torch._dynamo import register_backend
@register_backend
def mine(gm, ex):
    print("mine", gm.code); return gm
torch.compile(f, backend="mine")(x, y)
try:
    torch.compile(f, backend="nosuch")(x, y)
except Exception as e: print(type(e).__name__, e)
def model(gm, args):
    return gm
class M(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.l = torch.nn.Linear(2, 2); self.register_buffer("n", torch.zeros(1))
    def forward(self, x):
        self.n.add_(1)
        return (self.l(x) + self.n,)
mm = M()
s = aot_module_simplified(mm, (torch.randn(1, 2),), fw_compiler=comp, bw_compiler=comp)
out = s(torch.randn(1, 2))
print(out[0].shape, mm.n)
out[0].sum().backward()
print(mm.l.weight.grad.shape)

found = torch._dynamo.lookup_backend("aot_eager")
print(found.__name__, torch.compile(f, backend=found)(x, y).shape)
