import torch


@torch.compile
def f(x):
    return (x**3).sum()


x = torch.arange(3.0).requires_grad_()
y = f(x)
node = y.grad_fn
print(y.grad_fn is node, node.name(), type(node).__name__, str(node).split(" object")[0])
print(node.next_functions[0][0] is node.next_functions[0][0], node.next_functions[0][0].variable is x)
node.metadata["seen"] = 1
print(y.grad_fn.metadata)
(g,) = torch.autograd.grad(y, x, create_graph=True)
print(g.grad_fn.name(), str(g.grad_fn).split(" object")[0])
try:
    g.sum().backward()
except RuntimeError as e:
    print(e)
z = torch.ones(2, requires_grad=True) * 2
print(z.grad_fn is z.grad_fn, {z.grad_fn: 1}[z.grad_fn])


@torch.compile
def dots(a, b):
    return torch.vmap(torch.dot)(a, b)


print(dots(torch.ones(4, 3), torch.ones(4, 3)))
print(callable(torch._decomp.get_decompositions))
