"""Losses of tensors of several dtypes: some have the input's dtype, some the target's, some promote, and kernels that promote nothing
refuse, some in the backward alone."""

import itertools

import torch
import torch.nn.functional as F

LOSSES = {
    "huber": F.huber_loss,
    "huber of elements": lambda a, b: F.huber_loss(a, b, reduction="none"),
    "huber with weights": lambda a, b: F.huber_loss(a, b, weight=b),
    "mse": F.mse_loss,
    "l1": F.l1_loss,
    "smooth_l1": F.smooth_l1_loss,
    "soft_margin": F.soft_margin_loss,
    "bce": F.binary_cross_entropy,
    "bce with weights": lambda a, b: F.binary_cross_entropy(a, a.detach(), weight=b),
    "bce with logits": F.binary_cross_entropy_with_logits,
    "bce with logits, weights": lambda a, b: F.binary_cross_entropy_with_logits(a, a.detach(), weight=b),
    "bce with logits, pos_weight": lambda a, b: F.binary_cross_entropy_with_logits(a, a.detach(), pos_weight=b),
    "kl": F.kl_div,
    "poisson": F.poisson_nll_loss,
    "cross entropy with weights": lambda a, b: F.cross_entropy(a[None], torch.tensor([1]), weight=b),
    "nll with weights": lambda a, b: F.nll_loss(a[None], torch.tensor([1]), weight=b),
    "multi margin with weights": lambda a, b: F.multi_margin_loss(a[None], torch.tensor([1]), weight=b),
}
DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64]


def attempt(run):
    try:
        return run()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


for name, loss in LOSSES.items():
    for x, y in itertools.product(DTYPES, DTYPES):
        input = torch.tensor([0.25, 0.5, 0.75]).to(x).requires_grad_()
        target = torch.tensor([0.5, 0.25, 0.125]).to(y)
        print(name, x, y)
        print("  ", attempt(lambda: loss(input.detach(), target)))

        def gradient():
            loss(input, target).sum().backward()
            return input.grad

        print("  ", attempt(gradient))

for loss in (F.huber_loss, F.soft_margin_loss, F.binary_cross_entropy_with_logits):
    print(loss.__name__, attempt(lambda: loss(torch.ones(2), torch.ones(2, dtype=torch.int64))))
    print(loss.__name__, attempt(lambda: loss(torch.ones(2, dtype=torch.int64), torch.ones(2))))
