"""Calls whose sizes do not fit: each is an error, and the script goes on."""

import torch
import torch.nn.functional as F


def attempt(f):
    try:
        print(f())
    except Exception as error:
        print(type(error).__name__)


one = torch.tensor(1.5)
attempt(lambda: torch.fft.fft2(one, dim=(0,)))
attempt(lambda: torch.fft.rfftn(one, dim=(0,)))
attempt(lambda: torch.roll(one, 1, 0))
attempt(lambda: torch.renorm(one, 2, 0, 1.0))
attempt(lambda: torch.renorm(torch.ones(3), 2, 0, 1.0))
attempt(lambda: F.adaptive_avg_pool1d(torch.ones(1, 2, 4), ()))
attempt(lambda: F.adaptive_max_pool2d(torch.ones(1, 2, 4, 4), ()))
attempt(lambda: F.adaptive_max_pool2d(torch.ones(1, 1, 4, 4), (-1, 0)))
attempt(lambda: F.conv2d(torch.ones(1, 1, 4, 3), torch.ones(1, 2, 2), padding="same"))
attempt(lambda: F.max_pool1d(torch.ones(1, 2, 3), 2**62 + 1, padding=4, dilation=2**40, ceil_mode=True))
print(torch.ones_like(torch.ones(3, dtype=torch.complex64), dtype=torch.float64))
print(torch.func.vmap(torch.median)(torch.tensor([[3.0, 1.0, 2.0], [6.0, 4.0, 5.0]])))
print(torch.func.vmap(lambda t: torch.renorm(t, 2, 0, 1.0))(torch.arange(12.0).reshape(2, 3, 2)))
print(torch.unravel_index(torch.tensor([5, 7], dtype=torch.int32), (3, 4)))
print(torch.div(torch.tensor([29.9]).bfloat16(), torch.tensor([2.0]).bfloat16(), rounding_mode="trunc"))
print(F.multi_margin_loss(torch.tensor([0.1, 0.7, 0.2]), torch.tensor(1), reduction="none"))
