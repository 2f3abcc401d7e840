import torch
import torch.nn.functional as F


@torch.compile
def f(x, w, y):
    pooled = F.adaptive_avg_pool2d(x, 1)
    gate = F.hardsigmoid(F.conv2d(F.silu(F.conv2d(pooled, w)), w))
    return x * gate, gate + y, y.relu(), (x[:, :1] * 2).sigmoid()


x = torch.ones(2, 4, 3, 3).to(memory_format=torch.channels_last).requires_grad_()
w = torch.ones(4, 4, 1, 1).to(memory_format=torch.channels_last).requires_grad_()
results = f(x, w, torch.ones(2, 4, 1, 1))
print([t.shape for t in results])
results[0].sum().backward()
print(w.grad.shape)
