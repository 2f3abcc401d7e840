"""Dimensions that are equal by what the script says: which input each is read off."""
import torch
from torch.export import export, Dim
b, t = Dim("b"), Dim("t")
class B(torch.nn.Module):
    def forward(s, x, y, z): return x.view(y.shape[0], -1), y + z
class C(torch.nn.Module):
    def forward(s, x): return x.view(-1), x.new_zeros(x.shape[0], x.shape[1])
class D(torch.nn.Module):
    def forward(s, l): return torch.cat(l), l[0].shape[0] + l[1].shape[0]
class E(torch.nn.Module):
    def forward(s, x, mask): return (x * mask[:, :, None]).reshape(x.shape[0] * x.shape[1], -1), mask.sum(1)
for m, a, d in ((B(), (torch.ones(4, 6), torch.ones(4), torch.ones(4)), ({0: b}, {0: b}, {0: b})), (C(), (torch.ones(5, 5),), ({0: b, 1: t},)), (C(), (torch.ones(5, 5),), ({0: b, 1: b},)), (D(), ([torch.ones(3), torch.ones(4)],), ([{0: b}, {0: t}],)), (D(), ([torch.ones(3), torch.ones(3)],), ([{0: b}, {0: b}],))):
    ep = export(m, a, dynamic_shapes=d); print(ep.graph); print(ep.range_constraints)
    print(ep.run_decompositions().graph)
for d in (({0: b, 1: t}, {0: b, 1: t}), ({0: Dim.AUTO, 1: Dim.AUTO}, {0: Dim.AUTO, 1: Dim.AUTO})):
    ep = export(E(), (torch.ones(3, 5, 2), torch.ones(3, 5)), dynamic_shapes=d)
    for p in (ep, ep.run_decompositions()):
        print([(str(n.args[0]), n.args[1], n.meta["val"]) for n in p.graph.nodes if n.target is torch.ops.aten.sym_size.int])
