# Fake quantization per tensor and per channel: values, gradients, refusals, and what make_fx traces of them.
import torch
from torch.fx.experimental.proxy_tensor import make_fx


def show(f, *args):
    try:
        print(f(*args))
    except Exception as error:
        print(type(error).__name__, str(error)[:120])


x = torch.tensor([-1.0, -0.3, 0.0, 0.26, 0.75, 1.25, 9.0, float("nan"), float("inf")], requires_grad=True)
per_tensor, per_channel = torch.fake_quantize_per_tensor_affine, torch.fake_quantize_per_channel_affine
y = per_tensor(x, 0.5, 1, 0, 3)
print(y)
y.sum().backward()
print(x.grad)
show(per_tensor, x.detach(), 0.5, 1, 4, 3)
show(per_tensor, x.detach(), 0.5, 5, 0, 3)
show(per_tensor, torch.ones(2).long(), 0.5, 0, 0, 3)
for dtype in (torch.float64, torch.float16, torch.bfloat16):
    show(per_tensor, torch.tensor([1.3, 0.2], dtype=dtype), 0.5, 0, 0, 3)
show(per_tensor, torch.ones(2), torch.tensor(0.5), torch.tensor(1), 0, 3)
show(per_tensor, torch.tensor([1.3, 0.2]), torch.tensor([0.5]), torch.tensor([1], dtype=torch.int32), 0, 3)
print(per_tensor(torch.ones(2, 3).t(), 0.5, 0, 0, 3).stride())

z = torch.arange(6.0).reshape(2, 3).requires_grad_()
scale, point = torch.tensor([0.5, 1.0, 2.0]), torch.tensor([0, 1, 2], dtype=torch.int32)
w = per_channel(z, scale, point, 1, 0, 3)
print(w)
w.sum().backward()
print(z.grad)
show(per_channel, z, scale, point.long(), 1, 0, 3)
show(per_channel, z, scale, point.float(), 1, 0, 3)
show(per_channel, z, scale, point, 0, 0, 3)
show(per_channel, z, scale[:2], point[:2], 0, 0, 3)
show(per_channel, z, scale, point, -2, 0, 3)
show(per_channel, z, scale.double(), point, 1, 0, 3)
show(per_channel, z.double(), scale, point, 1, 0, 3)
show(per_channel, z, scale, point + 7, 1, 0, 3)
print(make_fx(lambda x: torch.autograd.grad(per_tensor(x, 0.5, 1, 0, 3).sum(), x))(x).code.strip())
print(make_fx(lambda x, s, p: per_tensor(x, s, p, 0, 3))(x.detach(), torch.tensor(0.5), torch.tensor(1)).code.strip())
print(make_fx(lambda x, s, p: torch.autograd.grad(per_channel(x, s, p, 1, 0, 3).sum(), x))(z, scale, point).code.strip())
