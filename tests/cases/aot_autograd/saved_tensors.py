import torch


@torch.compile
def f(x, w):
    h = x @ w
    for _ in range(3):
        h = torch.tanh(h) * h
    return h.sum()
x = torch.ones(4, 4)
w = torch.full((4, 4), 0.1, requires_grad=True)
l = f(x, w)
node = l.grad_fn
print(type(node).__name__, node.name(), len(node.next_functions))
print([tuple(t.shape) for t in node.saved_tensors])
l.backward()
try:
    node.saved_tensors
except RuntimeError as e:
    print(str(e)[:90])
try:
    l.backward()
except RuntimeError as e:
    print(str(e)[:90])
l = f(x, w)
try:
    l.backward(retain_graph=True)
except RuntimeError as e:
    print(str(e)[:90])
