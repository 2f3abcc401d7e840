"""Reductions and norms whose derivatives divide by sizes."""

import torch
import torch.nn.functional as F


@torch.compile
def reduced(x):
    centered = x - x.mean(0, keepdim=True)
    spread = centered.var(0, unbiased=True) + x.std(1).sum()
    return spread.sum() / x.shape[0] + F.layer_norm(x, x.shape[1:]).abs().mean() + x.logsumexp(0).mean()


@torch.compile
def classified(x, labels):
    return F.cross_entropy(x, labels) + F.nll_loss(x.log_softmax(-1), labels, reduction="sum") / len(labels)


for n in (4, 6, 9):
    x = torch.linspace(-1, 2, n * 3).reshape(n, 3).sin().requires_grad_()
    loss = reduced(x) + classified(x, torch.arange(n) % 3)
    loss.backward()
    print(round(loss.item(), 4), [round(v, 4) for v in x.grad.sum(1).tolist()])
