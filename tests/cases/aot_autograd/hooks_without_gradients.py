import torch
@torch.compile
def f(x, w):
    y = x * w
    return y, y.t() @ y
x = torch.ones(3, 4)
w = torch.linspace(0, 1, 12).view(3, 4).requires_grad_()
y, z = f(x, w)
y.backward(torch.arange(12.).view(4, 3).t(), retain_graph=True)
print(w.grad)
z.backward(torch.ones(1).expand(4, 4))
print(w.grad)
try:
    z.sum().backward()
except RuntimeError as e:
    print(e)
def bad(g):
    raise KeyError("in hook")
y, z = f(x, w)
h = y.register_hook(bad)
try:
    (y.sum() + z.sum()).backward()
except KeyError as e:
    print("KeyError", e)
h.remove()
y, z = f(x, w)
w.register_hook(lambda g: print("grad of w", g.shape, g.stride()) or g * 2)
y.register_hook(lambda g: print("grad of y", g if g is None else g.stride()))
z.t().sum().backward()
print(w.grad.sum())
@torch.compile
def conv(x, k):
    return torch.nn.functional.conv2d(x, k, padding=1).relu()
x = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last).requires_grad_()
k = torch.randn(4, 3, 3, 3, requires_grad=True)
o = conv(x, k)
print(o.stride())
o.backward(torch.ones(2, 4, 4, 4))
print(x.grad.stride())
o = conv(x, k)
o.backward(torch.ones(2, 4, 4, 4).to(memory_format=torch.channels_last))
print(x.grad.stride())
