# segment_reduce by lengths and by offsets, along each dimension, with an initial value; gradients; refusals.
import torch
from torch.fx.experimental.proxy_tensor import make_fx


def show(*args, **kwargs):
    try:
        print(torch.segment_reduce(*args, **kwargs))
    except Exception as error:
        print(type(error).__name__, str(error)[:110])


x = torch.tensor([1.0, 4.0, 2.0, -3.0, 5.0, 0.0], requires_grad=True)
lengths, filled = torch.tensor([1, 3, 0, 2]), torch.tensor([0, 1, 3])
for reduce in ("sum", "mean", "max", "min", "prod"):
    y = torch.segment_reduce(x, reduce, lengths=lengths)
    print(reduce, y, torch.autograd.grad(y[filled].sum(), x))
    show(x.detach(), reduce, lengths=lengths, initial=2.0)
    show(x.detach(), reduce, offsets=torch.tensor([0, 1, 4, 4, 6]))
    y = torch.segment_reduce(x, reduce, lengths=lengths, initial=1)
    print(torch.autograd.grad(y[filled].sum(), x))
z = torch.arange(12.0).reshape(3, 4).requires_grad_()
show(z, "sum", lengths=torch.tensor([1, 2]))
rows = torch.tensor([[1, 3], [2, 2], [4, 0]])
show(z, "max", lengths=rows, axis=1)
print(torch.autograd.grad(torch.segment_reduce(z, "max", lengths=rows, axis=1, initial=0).sum(), z))
show(z.detach().t(), "sum", lengths=torch.tensor([1, 3]))
show(x.detach().half(), "sum", lengths=lengths.int())
show(torch.tensor([2.0, 2.0, float("nan")]), "max", lengths=torch.tensor([2, 1]))
ties = torch.tensor([2.0, 2.0, 0.0, 3.0, 0.0, 0.0], requires_grad=True)
for reduce in ("max", "min", "prod"):
    y = torch.segment_reduce(ties, reduce, lengths=torch.tensor([2, 2, 2]))
    print(torch.autograd.grad(y, ties, torch.tensor([1.0, 2.0, 3.0])))
show(x, "sum")
show(x, "other", lengths=lengths)
show(x, "sum", lengths=torch.tensor([1, 2]))
show(x, "sum", lengths=torch.tensor([1, 2]), unsafe=True)
show(x, "sum", lengths=torch.tensor([7, -1]))
show(x.detach().long(), "sum", lengths=lengths)
show(x, "sum", lengths=lengths.float())
show(x, "sum", indices=lengths)
show(x, "sum", lengths=lengths, axis=1)
print(make_fx(lambda x, n: torch.segment_reduce(x, "sum", lengths=n))(x.detach(), lengths).code.strip())
