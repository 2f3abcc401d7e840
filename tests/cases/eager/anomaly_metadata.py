"""What a node of autograd tells of its making in anomaly mode, for scripts that read it."""
import torch
x = torch.ones(2, requires_grad=True)
print(x.sin().grad_fn.metadata)
with torch.autograd.detect_anomaly():
    y = x.sin()
    z = y.exp()
    g, = torch.autograd.grad(z.sum(), x, create_graph=True)
for t in (y, z, g):
    told = t.grad_fn.metadata
    print(sorted(told), type(told["traceback_"]).__name__, told["traceback_"][-1].strip().split("\n")[-1].strip() if t is not g else "")
print(type(g.grad_fn.metadata["parent_"]).__name__ if "parent_" in g.grad_fn.metadata else None)
y.grad_fn.metadata["mine"] = 1
print(y.grad_fn.metadata["mine"], sorted(y.grad_fn.metadata))
