# allow_mutation_on_saved_tensors: what is saved for backward is copied before it is written to. Generator.clone_state; results of
# operators called by themselves are plain tuples.
import torch
from torch.autograd.graph import allow_mutation_on_saved_tensors

with allow_mutation_on_saved_tensors():
    a = torch.ones(2, 3, requires_grad=True)
    b = a.clone()
    out = (b**2).sum()
    b.sin_()
    out.backward()
    print(a.grad, b)

with allow_mutation_on_saved_tensors():
    a = torch.ones(3, requires_grad=True)
    b = a * 2
    c = b.exp()
    d = b * c
    c.zero_()
    b.add_(1)
    b[0] = 7
    torch._foreach_mul_([b, c], 3)
    d.sum().backward()
    print(a.grad, b, c)
try:
    with allow_mutation_on_saved_tensors():
        with allow_mutation_on_saved_tensors():
            pass
except RuntimeError as error:
    print(error)
a = torch.ones(2, requires_grad=True).clone()
out = (a * a).sum()
a.zero_()
try:
    out.backward()
except RuntimeError as error:
    print(str(error)[:90])

g = torch.Generator().manual_seed(3)
torch.rand(5, generator=g)
h = g.clone_state()
print(torch.rand(2, generator=g), torch.rand(2, generator=h), h.initial_seed(), h is g)

x = torch.tensor([[1.0, 3.0], [2.0, 0.0]])
for f in (torch.ops.aten.max.dim, torch.ops.aten.max, torch.ops.aten.min.dim):
    print(type(f(x, 0)).__name__, f(x, 0))
print(type(torch.ops.aten.topk.default(x, 1)).__name__, type(torch.ops.aten.sort(x)).__name__)
print(type(torch.max(x, 0)).__name__, type(x.topk(1)).__name__)
