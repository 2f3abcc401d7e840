import torch

seen = []
scale = torch.tensor(3.0)

@torch.compile(backend="aot_eager")
def pure(x, w):
    h = torch.relu(x @ w)
    h.register_hook(lambda g: g * 10)
    w.register_hook(lambda g: seen.append(round(g.norm().item(), 4)))
    return h * 2

@torch.compile(backend="aot_eager")
def closed(x, w):
    h = torch.sin(x @ w)
    factor = h.detach() + scale
    h.register_hook(lambda g: g * factor)
    return h * 2

@torch.compile(backend="aot_eager")
def effects(x, w):
    h = torch.relu(x @ w)
    h.register_hook(lambda g: seen.append(tuple(g.shape)))
    return h * 2

for f in (pure, closed, effects):
    seen.clear()
    x = torch.arange(6.0).view(2, 3)
    w = torch.ones(3, 2, requires_grad=True)
    f(x, w).sum().backward()
    print(seen, w.grad.round(decimals=3))

@torch.compile(backend="aot_eager")
def kept(w):
    h = w * 2
    h.retain_grad()
    return h, (h * h).sum()

w = torch.ones(3, requires_grad=True)
h, out = kept(w)
out.backward()
print(h.grad, w.grad)
