"""capture_scalar_outputs and capture_dynamic_output_shape_ops as users switch them on."""
import torch

torch._dynamo.config.capture_scalar_outputs = True
torch._dynamo.config.capture_dynamic_output_shape_ops = True

@torch.compile
def select(x, mask):
    kept = x[mask]
    return kept * 2, kept.shape[0]

x = torch.arange(6.0)
for m in (x > 2, x > 4, x >= 0):
    print(select(x, m))

@torch.compile(fullgraph=True)
def counts(labels):
    n = labels.max().item() + 1
    torch._check(n >= 1)
    return torch.zeros(n).index_add(0, labels, torch.ones_like(labels, dtype=torch.float))

print(counts(torch.tensor([0, 2, 2, 1])), counts(torch.tensor([3, 3])))

@torch.compile(fullgraph=True)
def uniq(x):
    u = torch.unique(x)
    return u.float().mean(), u.numel()

print(uniq(torch.tensor([1, 1, 3])), uniq(torch.tensor([5, 6, 6, 7])))

@torch.compile(fullgraph=True)
def nz(x):
    i = torch.nonzero(x > 0)
    return i.squeeze(1).sum() + i.size(0)

print(nz(torch.tensor([1.0, -1.0, 2.0])), nz(torch.tensor([1.0, 1.0, 2.0, 3.0])))
