"""Decompositions that a script asks for, and its own, in `make_fx`."""

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch._decomp import decomposition_table, get_decompositions, core_aten_decompositions, register_decomposition, remove_decompositions
aten = torch.ops.aten
def f(x, w, b):
    return torch.nn.functional.silu(torch.nn.functional.layer_norm(torch.addmm(b, x, w), (4,)))
a = (torch.randn(3, 5), torch.randn(5, 4), torch.randn(4))
print(make_fx(f)(*a).code)
t = get_decompositions([aten.addmm, aten.silu.default])
print(make_fx(f, decomposition_table=t)(*a).code)
print(aten.silu.default in decomposition_table, aten.mm.default in decomposition_table, callable(decomposition_table[aten.silu.default]))
print(decomposition_table[aten.silu.default](torch.tensor([1., 2.])))
def my(x):
    return x * x.sigmoid() * 1
print(make_fx(f, decomposition_table={aten.silu.default: my})(*a).code)
reg = {}
@register_decomposition(aten.silu.default, registry=reg)
def silu(x):
    return x / (1 + torch.exp(-x))
print([str(k) for k in reg])
print(make_fx(f, decomposition_table=reg)(*a).code)
t = dict(core_aten_decompositions()); 
remove_decompositions(t, [aten.silu])
print(make_fx(f, decomposition_table=t)(*a).code)
