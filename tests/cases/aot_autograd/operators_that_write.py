import torch

@torch.library.custom_op("mylib::accumulate_", mutates_args={"out"})
def accumulate_(x: torch.Tensor, out: torch.Tensor) -> None:
    out.add_(x)

@torch.library.custom_op("mylib::fill_pair", mutates_args={"a", "b"})
def fill_pair(a: torch.Tensor, b: torch.Tensor, value: float) -> torch.Tensor:
    a.fill_(value)
    b.mul_(value)
    return (a + b).sum(dim=0)

@fill_pair.register_fake
def _(a, b, value):
    return a.new_empty(a.shape[1:])

def f(x, out):
    y = x * 2
    accumulate_(y, out)
    z = out + 1
    accumulate_(z, out)
    return out.sin(), y

torch.manual_seed(0)
x = torch.randn(3, 4)
o = torch.zeros(3, 4)
print(f(x, o)[0])
o2 = torch.zeros(3, 4)
g = torch.compile(f)
print(g(x, o2)[0])
print(torch.equal(o, o2))

def h(x):
    buf = x.new_zeros(4, 4)
    view = buf[1:3]
    s = fill_pair(view, buf[0:2].clone(), 3.0)
    accumulate_(x[:2], buf[2:])
    return buf * 2, s

c = torch.compile(h)
a, b = h(x), c(x)
for p, q in zip(a, b):
    print(torch.equal(p, q))
print(b[0], b[1])
print(fill_pair._opoverload._schema)
print(accumulate_._opoverload._schema)

w = torch.randn(3, 4, requires_grad=True)
try:
    y = fill_pair(x.clone(), w * 1, 2.0)
    y.sum().backward()
except RuntimeError as e:
    print(type(e).__name__, e)
