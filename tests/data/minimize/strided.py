# keep: operator:aten.as_strided_scatter
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import aot_module_simplified
from functorch.compile import make_boxed_func, aot_function, nop
def fw(gm, args):
    print("  inputs", [tuple(a.shape) for a in args])
    return make_boxed_func(gm.forward)
def touch(a, b):
    a.add_(1)
    return a.sum() * 2 + b.sum()
def run(label, f, a, b):
    base.zero_()
    try:
        print(label, f(a, b).item(), base.sum().item())
    except Exception as e:
        print(label, type(e).__name__, str(e)[:90])
base = torch.zeros(4, 4)
for name, a, b in (("rowcol", base[0], base[:, 0]), ("dup", base[0], base[0]), ("whole", base, base[1])):
    torch._dynamo.reset()
    run(name + " aot_autograd", torch.compile(touch, backend=aot_autograd(fw_compiler=fw)), a, b)
    torch._dynamo.reset()
    run(name + " simplified", torch.compile(touch, backend=lambda g, i: aot_module_simplified(g, i, fw_compiler=fw)), a, b)
    run(name + " aot_function", aot_function(touch, fw_compiler=fw), a, b)
w = torch.ones(4, requires_grad=True)
def gf(a, b, w):
    a.mul_(2)
    return (a * w).sum() + (b * w).sum()
for be in ("aot_eager", aot_autograd(fw_compiler=fw)):
    torch._dynamo.reset()
    base = torch.ones(4, 4); w.grad = None
    torch.compile(gf, backend=be)(base[0], base[:, 0], w).backward()
    print(w.grad, base[0])
a = torch.ones(3)
print(torch.compile(lambda x, y: x.add_(1) + y, backend=aot_autograd(fw_compiler=fw))(a, a))
