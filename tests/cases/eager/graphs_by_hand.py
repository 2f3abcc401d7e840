import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch._decomp import get_decompositions, core_aten_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func

def f(x, w, b):
    h = torch.nn.functional.linear(x, w, b)
    h = torch.nn.functional.gelu(h)
    return torch.nn.functional.layer_norm(h, (h.shape[-1],))

args = (torch.randn(2, 3), torch.randn(4, 3), torch.randn(4))
print(make_fx(f, tracing_mode="fake")(*args).graph)
print(make_fx(f, tracing_mode="symbolic")(*args).code)
print(make_fx(f, pre_dispatch=True)(*args).code)
dec = get_decompositions([torch.ops.aten.gelu, torch.ops.aten.addmm])
print(make_fx(f, decomposition_table=dec)(*args).code)

def g(x):
    with torch.no_grad():
        y = x.sin()
    z = x.cos()
    z[0] = 1
    return y + z

print(make_fx(g, pre_dispatch=True)(torch.randn(3, 3)).code)
print(make_fx(torch.func.grad(lambda x: (x ** 3).sum()))(torch.randn(3)).code)
print(make_fx(torch.func.vmap(lambda x: x.sum() * x))(torch.randn(3, 2)).code)
print(make_fx(torch.func.jacrev(lambda x: x ** 2))(torch.randn(3)).code)

def comp(gm, inps):
    print(gm.graph)
    return make_boxed_func(gm.forward)

be = aot_autograd(fw_compiler=comp, bw_compiler=comp, decompositions=dec)
@torch.compile(backend=be)
def h(x, w, b):
    return f(x, w, b).sum()
args = tuple(a.requires_grad_() for a in args)
h(*args).backward()
gm, guards = torch._dynamo.export(f, aten_graph=True)(*args)
print(gm.code)
gm, guards = torch._dynamo.export(f, aten_graph=True, tracing_mode="symbolic")(*args)
print(gm.code)
