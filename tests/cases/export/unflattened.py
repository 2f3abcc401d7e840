import torch
from torch import nn
from torch.export import export, unflatten, Dim, FlatArgsAdapter


class Gate(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.ones(d))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x, *, scale, shift=None):
        self.count.add_(1)
        y = x * self.w * scale
        if shift is not None:
            y = y + shift
        return {"y": y, "n": self.count + 0}


class Top(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate(3)
        self.proj = nn.Linear(3, 2)
        self.unused = nn.Linear(1, 1)

    def forward(self, x, z):
        a = self.gate(x, scale=z)
        b = self.gate(a["y"], scale=z, shift=x)
        return self.proj(b["y"]), a["n"], b["n"]


torch.manual_seed(0)
m = Top()
x, z = torch.randn(4, 3), torch.randn(3)
ep = export(m, (x, z), dynamic_shapes=({0: Dim("b", max=16)}, None))
u = unflatten(ep)
u.print_readable()
print(u)
print([n for n, _ in u.named_modules(remove_duplicate=False)])
print([(n, tuple(p.shape)) for n, p in u.named_parameters()], [n for n, _ in u.named_buffers()])
print(sorted(u.state_dict()))
for _ in range(2):
    o = u(torch.ones(5, 3), torch.ones(3))
    print(o[0].shape, o[1].item(), o[2].item(), u.gate.count.item())
print(u.gate.type_name(), u.proj.type_name(), u.type_name())
for args in ((torch.ones(5, 4), torch.ones(3)), (torch.ones(17, 3), torch.ones(3)), (torch.ones(5, 3),), (torch.ones(3), torch.ones(3)), (torch.ones(5, 3), 2.0)):
    try:
        u(*args)
    except Exception as e:
        print(type(e).__name__, e)


class Take(FlatArgsAdapter):
    def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
        return input_args[:2]


v = unflatten(ep, Take())
print(v(torch.ones(2, 3), torch.ones(3), torch.ones(1))[0].shape)
print(v.gate.graph)
print(getattr(v, "gate@1").graph if hasattr(v, "gate@1") else None)
