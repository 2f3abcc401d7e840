# interpolate(antialias=True): bilinear, bicubic and Lanczos filters, smaller and larger, with gradients and what make_fx traces.
import torch
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx


def show(f):
    try:
        print(f())
    except Exception as error:
        print(type(error).__name__, str(error)[:120])


x = (torch.arange(60.0).reshape(1, 2, 5, 6) * 0.37).sin()
for mode in ("bilinear", "bicubic", "lanczos"):
    for settings in ({"size": (2, 3)}, {"size": (7, 4)}, {"scale_factor": 0.5}, {"scale_factor": (0.4, 1.7)}, {"size": (2, 3), "align_corners": True}):
        if mode == "lanczos" and "align_corners" in settings:
            continue
        y = x.clone().requires_grad_()
        out = F.interpolate(y, mode=mode, antialias=True, **settings)
        out.mul(torch.arange(out.numel()).reshape(out.shape)).sum().backward()
        print(mode, settings, out.shape)
        print(out.detach())
        print(y.grad)
for dtype in (torch.float64,):
    print(F.interpolate(x.to(dtype), size=(2, 3), mode="bicubic", antialias=True))
print(make_fx(lambda x: torch.autograd.grad(F.interpolate(x, size=(2, 3), mode="bilinear", antialias=True).sum(), x))(x.requires_grad_()).code.strip())
print(make_fx(lambda x: F.interpolate(x, scale_factor=0.5, mode="bicubic", antialias=True))(x.detach()).code.strip())
print(F.interpolate(x.detach().contiguous(memory_format=torch.channels_last), size=(2, 3), mode="bilinear", antialias=True).stride())
show(lambda: F.interpolate(x, size=(2, 3), antialias=True))
show(lambda: F.interpolate(x[0], size=3, mode="linear", antialias=True))
show(lambda: F.interpolate(x.long(), size=(2, 3), mode="bilinear", antialias=True))
