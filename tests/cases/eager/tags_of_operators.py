"""`torch.Tag`, what is said of operators, and what that means to dead code."""
import torch

print(torch.Tag.core, repr(torch.Tag.core), str(torch.Tag.pointwise))
for op in (
    torch.ops.aten.add.Tensor, torch.ops.aten.relu_.default, torch.ops.aten.nonzero.default, torch.ops.aten.rand.default,
    torch.ops.aten.item.default, torch.ops.aten.view_copy.default, torch.ops.aten.sum.dim_IntList, torch.ops.prims.convert_element_type.default,
):
    print(op, op.tags, torch.Tag.pointwise in op.tags)


@torch.library.custom_op("mine::f", mutates_args=(), tags=(torch.Tag.needs_fixed_stride_order,))
def f(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


print(torch.ops.mine.f.default.tags)
lib = torch.library.Library("others", "DEF")
lib.define("g(Tensor x) -> Tensor", tags=torch.Tag.pt2_compliant_tag)
lib.define("h(Tensor x) -> Tensor")
print(torch.ops.others.g.default.tags, torch.ops.others.h.default.tags)


class Dead(torch.nn.Module):
    def forward(self, x):
        torch.rand(3)
        x.sin()
        torch._assert(x.shape[0] > 1, "no")
        torch.nn.functional.dropout(x)
        return x.cos()


g = torch.fx.symbolic_trace(Dead())
print(g.graph.eliminate_dead_code(), g.graph)
ep = torch.export.export(Dead(), (torch.ones(3),))
print(ep.graph.eliminate_dead_code(), ep.graph)
