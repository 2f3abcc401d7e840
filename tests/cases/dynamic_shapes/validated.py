"""Translation validation of what is compiled: sound guards raise nothing, and graphs are the same."""

import torch
import torch.fx.experimental._config as config
from torch.fx.experimental.validator import translation_validation_enabled


@torch.compile(backend="aot_eager", dynamic=True)
def pooled(x, y):
    n = x.shape[0]
    if n % 4 == 0 and n // 2 > y.shape[0]:
        return x.reshape(n // 4, -1).sum(1).relu(), y * n
    if n + y.shape[0] <= 9:
        return x.sum() + y.sum(), y
    return x.cumsum(0), y[: y.shape[0] // 2]


@torch.compile(backend="aot_eager", dynamic=True)
def joined(x, w):
    z = torch.cat([x, x * 2]).view(2, -1)
    if z.shape[1] != w.shape[0] * 3:
        z = z + 1
    return z.sum() * w


@torch.compile(backend="aot_eager", dynamic=True)
def checked(x):
    n = x.nonzero().shape[0]
    torch._check(n >= 2)
    torch._check(n < 20)
    return x.sum() / n


print(translation_validation_enabled())
with config.patch(translation_validation=True, translation_validation_no_bisect=True):
    print(translation_validation_enabled())
    for a, b in ((12, 3), (4, 5), (3, 12), (20, 4)):
        x, y = torch.arange(float(a)).requires_grad_(), torch.ones(b)
        first, second = pooled(x, y)
        (first.sum() + second.sum()).backward()
        print(a, b, first.shape, second.shape, x.grad.sum().item())
    print(joined(torch.ones(6), torch.ones(4)).sum().item(), joined(torch.ones(6), torch.ones(2)).sum().item())
torch._dynamo.config.capture_dynamic_output_shape_ops = True
with config.patch("translation_validation", True):
    print(checked(torch.tensor([1.0, 0.0, 3.0, 4.0])).item())
print(translation_validation_enabled())
