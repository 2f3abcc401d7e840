import torch
from torch.testing._internal.two_tensor import TwoTensor
from functorch.compile import aot_function, nop
torch.manual_seed(0)

def two(*shape, grad=False):
    return TwoTensor(torch.randn(*shape), torch.randn(*shape), requires_grad=grad) if not grad else TwoTensor(torch.randn(*shape), torch.randn(*shape)).requires_grad_()

@torch.compile
def write(buf, x):
    buf.mul_(0.5).add_(x)
    return buf.sum()

b, x = two(3), torch.ones(3)
print(write(b, x), b)

@torch.compile
def views(x):
    y = x.sin()
    return y, y.view(-1), y[0], x.t()

x = two(2, 3, grad=True)
outs = views(x)
print([type(o).__name__ for o in outs], [o._base is None for o in outs], [o.requires_grad for o in outs])
(outs[0].sum() + outs[1].sum() + outs[2].sum() + outs[3].sum()).backward()
print(x.grad)

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(3, 2)
        self.l.weight = torch.nn.Parameter(TwoTensor(torch.randn(2, 3), torch.randn(2, 3)))
        self.register_buffer("n", two(2))

    def forward(self, x):
        self.n.add_(1)
        return torch.nn.functional.gelu(self.l(x)) + self.n

m = M()
c = torch.compile(m)
y = c(torch.ones(4, 3))
y.sum().backward()
print(y, m.n, type(m.l.weight.grad).__name__, m.l.bias.grad)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
opt.step()
print(m.l.weight)

def g(a, b):
    return a @ b, (a * 2).detach()

f = aot_function(g, nop)
a, b = two(2, 2, grad=True), torch.eye(2).requires_grad_()
o, d = f(a, b)
print(o, d, d.requires_grad)
o.sum().backward()
print(a.grad, b.grad)

def h(x):
    if x.shape[0] > 2:
        print("big")
        return x + 1
    return x * 2

hc = torch.compile(h)
print(hc(two(2)), hc(two(4)))

@torch.compile
def attr(x):
    return x.a + x.b, x.a.sum()

print(attr(two(2)))

@torch.compile
def nested(x):
    return x + 1

print(nested(TwoTensor(two(2), two(2))))
