# Complex numbers as factors; writes through .data beside saved values; buffers that are set to what a call gave back.
import torch


@torch.compile
def f(z, x):
    y = z * 1j + x * (1 + 2j)
    return (y * y).abs().sum()


@torch.compile
def g(p, v):
    ratio = p.norm() / v.norm()
    p.data.sub_(ratio * v)
    return ratio


class Buffers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("u", torch.zeros(2))
        self.register_buffer("v", torch.zeros(3))

    def forward(self, x):
        self.v = torch.add(self.v, x, out=self.v)
        self.u = self.u.mul_(2)
        return x + 1


torch.manual_seed(0)
z, x = torch.randn(3, dtype=torch.complex64, requires_grad=True), torch.randn(3, requires_grad=True)
f(z, x).backward()
print(z.grad, x.grad)
p = torch.ones(3, requires_grad=True)
g(p, torch.ones(3)).backward()
print(p, p.grad)
b = Buffers()
print(torch.compile(b)(torch.ones(3)), b.v)
