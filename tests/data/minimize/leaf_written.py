# keep: exception
import torch

# an argument with a history is written to; its gradient and that of the other argument

def f(x, w):
    x.mul_(w)
    return x.sin(), x

def run(h):
    leaf = torch.tensor([0.0, 1.0], requires_grad=True)
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    x = leaf * 1
    y, same = h(x, w)
    (y.sum() + x.sum()).backward()
    return same is x, type(x.grad_fn).__name__, [round(v, 4) for v in leaf.grad.tolist() + w.grad.tolist()]

print(run(f))
print(run(torch.compile(f)))
leaf = torch.ones(2, requires_grad=True)
out = torch.compile(f)(leaf, torch.ones(2))
print(out)
