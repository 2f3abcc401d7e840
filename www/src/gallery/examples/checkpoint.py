import torch
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
w1 = torch.randn(64, 256, requires_grad=True)
w2 = torch.randn(256, 64, requires_grad=True)


def block(x):
    return torch.relu(x @ w1 / 8) @ w2 / 16


@torch.compile(backend="aot_eager")
def model(x):
    y = checkpoint(block, x, use_reentrant=False)  # computed again in the backward
    return block(y).pow(2).mean()  # saved


x = torch.randn(128, 64)
loss = model(x)
loss.backward()
print("loss", round(loss.item(), 4))
print("grad norms", round(w1.grad.norm().item(), 4), round(w2.grad.norm().item(), 4))
