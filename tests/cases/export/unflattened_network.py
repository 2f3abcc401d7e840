import torch
from torch import nn
from torch.export import export, unflatten, Dim
class Enc(nn.Module):
    def __init__(s):
        super().__init__(); s.c = nn.Conv2d(1, 2, 3, padding=1); s.n = nn.BatchNorm2d(2)
    def forward(s, x): return torch.relu(s.n(s.c(x)))
class UNet(nn.Module):
    def __init__(s):
        super().__init__(); s.e1 = Enc(); s.pool = nn.MaxPool2d(2); s.up = nn.Upsample(scale_factor=2); s.out = nn.Conv2d(3, 1, 1)
        s.h = nn.ModuleDict({"a": nn.Identity(), "b": nn.Dropout(0.0)})
    def forward(s, x):
        y = s.e1(x); p = s.pool(y); q = s.up(p)
        z = torch.cat([x, q], 1)
        return s.out(s.h["a"](s.h["b"](z))), {"mid": (y, p)}
torch.manual_seed(0)
m = UNet().eval()
x = torch.randn(2, 1, 8, 8)
ep = export(m, (x,), dynamic_shapes=({0: Dim("b", min=1, max=32)},), preserve_module_call_signature=("e1", "pool"))
print([ (e.fqn, e.signature is not None) for e in ep.module_call_graph])
u = unflatten(ep)
u.print_readable()
print(u.e1.graph); 
print(torch.allclose(u(x)[0], m(x)[0], atol=1e-5))
class Fake(nn.Module):
    def forward(s, x): return x * 0 + 1
u.set_submodule("pool", nn.AvgPool2d(2))

print(u(x)[0].shape)
m.train()
ep = export(m, (x,))
print(ep.graph_signature.buffers_to_mutate, [str(n.target) for n in ep.graph.nodes if "add" in str(n.target)])
u = unflatten(ep); before = u.e1.n.num_batches_tracked.item(); u(x); print(before, u.e1.n.num_batches_tracked.item(), u.e1.n.running_mean)
