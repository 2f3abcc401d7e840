import torch
import torch.nn.functional as F

torch.manual_seed(0)


@torch.compile
def f(x, w):
    return F.dropout(torch.relu(x @ w), p=0.5).sum()


x, w = torch.randn(16, 8), torch.randn(8, 32, requires_grad=True)
f(x, w).backward()
first = w.grad.clone()
w.grad = None
f(x, w).backward()
print("columns", tuple(w.grad.shape))
print("another mask, another gradient:", not torch.equal(first, w.grad))
