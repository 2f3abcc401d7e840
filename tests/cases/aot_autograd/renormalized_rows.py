import torch
import torch.nn.functional as F

# Rows that an embedding uses are made no longer than a norm first, in the table itself.
w = torch.ones(4, 3) * 2


@torch.compile
def look_up(i, w):
    return F.embedding(i, w, max_norm=1.0)


print(look_up(torch.tensor([0, 2]), w))
print(w)


@torch.compile
def renormalize(i, w):
    return torch.embedding_renorm_(w, i, 0.5, 1.0)


print(renormalize(torch.tensor([1, 1], dtype=torch.int32), w))
print(w)
e = torch.nn.Embedding(4, 3, max_norm=1.0, norm_type=float("inf"))
with torch.no_grad():
    e.weight.copy_(torch.arange(12.0).view(4, 3) - 4)
o = torch.compile(e)(torch.tensor([[0, 1], [1, 3]]))
o.sum().backward()
print(o, e.weight, e.weight.grad)
for table, indices in (
    (torch.ones(2, 2), torch.tensor([0.0])),
    (torch.ones(2), torch.tensor([0])),
    (torch.ones(2, 2), torch.tensor([3])),
    (torch.ones(3, 2), torch.tensor([-1])),
):
    try:
        print(torch.embedding_renorm_(table, indices, 1.0, 2.0))
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0])
try:
    v = torch.ones(2, 2, requires_grad=True) * 1
    torch.embedding_renorm_(v, torch.tensor([0]), 1.0, 2.0).sum().backward()
except Exception as error:
    print(type(error).__name__, str(error).splitlines()[0])
