import torch, torch.nn.functional as F
from torch import nn
from torch.export import export, Dim
class A(nn.Module):
    def forward(s, x): return F.interpolate(x, scale_factor=2, mode="linear"), F.interpolate(x, size=5, mode="linear", align_corners=True)
ep = export(A(), (torch.randn(2,3,6),)).run_decompositions()
ep.graph_module.print_readable(include_stride=True)
ep = export(A(), (torch.randn(3,2,6).transpose(0,1),)).run_decompositions()
ep.graph_module.print_readable(include_stride=True)
class B(nn.Module):
    def forward(s, q): 
        y = F.scaled_dot_product_attention(q, q, q); return y
for perm in ((0,1,2,3),(1,2,0,3),(0,2,1,3)):
    x = torch.randn(2,4,3,8).permute(perm)
    ep = export(B(), (x,)); n = [n for n in ep.graph.nodes if n.op=="call_function"][0]; print(x.shape, x.stride(), n.meta["val"].stride())
ep = ep.run_decompositions(); ep.graph_module.print_readable(include_stride=True)
