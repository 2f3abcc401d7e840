"""Whose gradient a tensor retains once it is written to, what hooks of nodes and of several gradients see, edges of the graph."""
import torch

graph = torch.autograd.graph


def leaf(*values):
    return torch.tensor(values, dtype=torch.float32, requires_grad=True)


def plain(grads):
    return [None if g is None else g.tolist() for g in grads]


# A retained gradient is that of the tensor as it is now; a hook is of the tensor as it was.
x = leaf(1., 2.)
y = x * 2
y.retain_grad()
y.register_hook(lambda g: print("before", g.tolist()))
y.mul_(5)
y.register_hook(lambda g: print("after", g.tolist()))
y.sum().backward()
print(y.grad, x.grad)

x = leaf(1., 2.)
y = x * 2
y.retain_grad()
z = y * 3
y.add_(1)
z.sum().backward()
print("not used any more", y.grad, x.grad)

x = leaf(1., 2.)
y = x * 2
y.retain_grad()
y[:1].mul_(5)
(y * 3).sum().backward()
print("written through a view", y.grad, x.grad)

x = leaf(1., 2.)
y = x * 2
v = y[:1]
v.retain_grad()
y.mul_(5)
(v * 3).sum().backward()
print("written through the base", v.grad, x.grad)

x = leaf(1., 2.)
y = x * 2
y.retain_grad()
y.unsqueeze_(0)
(y * 3).sum().backward()
print("turned", y.grad, x.grad)

x = leaf(1., 2.)
ys = [x * 2, x * 3]
[y.retain_grad() for y in ys]
torch._foreach_mul_(ys, 2.)
(ys[0] + ys[1]).sum().backward()
print("one by one", [y.grad for y in ys], x.grad)

# A node's hook sees a gradient per edge of the graph.
x, k = leaf(1., 2.), torch.tensor([3., 4.])
for made in (x * 2, x * k, torch.where(x > 1, x, 0.), x.masked_fill(x > 1, 0.), x[torch.tensor([0])], torch.cat([x, k]), x.clamp(0, 1)):
    made.grad_fn.register_hook(lambda gi, go, n=made.grad_fn: print(n.name(), plain(gi), plain(go), [f and f.name() for f, _ in n.next_functions]))
    made.sum().backward()
y = x * 2
y.grad_fn.register_hook(lambda gi, go: (gi[0] * 10, None))
print("replaced", torch.autograd.grad(y.sum(), x))

# Hooks of several gradients count those that this backward computes.
x, y = leaf(1.), leaf(2.)
handle = graph.register_multi_grad_hook((x, y), lambda grads: print("all", plain(grads)))
(x * y).sum().backward()
(x * 2).sum().backward()
a, b = x * 2, y * 3
with graph.register_multi_grad_hook((a, b), lambda grads: print("results", plain(grads))):
    torch.autograd.grad((a * b).sum(), a, retain_graph=True)
    (a * b).sum().backward()
handle.remove()
with graph.register_multi_grad_hook((x, y), lambda grad: print("any", grad.tolist()), mode="any"):
    (x * y).sum().backward()
    (y * 2).sum().backward()

# Edges stand for tensors in both places.
x = leaf(1., 2.)
y = x * 2
edge = graph.get_gradient_edge(y)
print(edge.node.name(), edge.output_nr)
print(torch.autograd.grad(edge, x, torch.ones(2), retain_graph=True), torch.autograd.grad((y * 3).sum(), edge, retain_graph=True))
torch.autograd.backward(edge, torch.ones(2))
print(x.grad)
try:
    torch.autograd.grad(edge, x)
except Exception as error:
    print(type(error).__name__, str(error).splitlines()[0])

# What a gradient that does not fit is called counts those edges, too.
try:
    x.detach().reshape(1, 2).expand(2, 2).clone().requires_grad_().scatter_add(0, torch.tensor([[0, 1]]), x.expand(2, 2)).sum().backward()
except RuntimeError as error:
    print(error)

# An edge among `inputs` of a backward: a leaf's gets its gradient, a result's has nothing to keep it in.
x, w = leaf(1., 2.), leaf(3., 4.)
y = x * 2
torch.autograd.backward((y * w).sum(), inputs=[graph.get_gradient_edge(y), w])
print(x.grad, w.grad)
torch.autograd.backward((x * w).sum(), inputs=[graph.get_gradient_edge(x), w])
print(x.grad, w.grad)
