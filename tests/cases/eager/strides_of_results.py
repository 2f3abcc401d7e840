# How results lie in memory, of inputs that do not lie in order: computed, under FakeTensorMode, and gradients.
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode


def turned(x):
    return x.transpose(-1, -2).contiguous().transpose(-1, -2)


def reversed_order(x):
    dims = list(range(x.dim()))[::-1]
    return x.permute(dims).contiguous().permute(dims)


def channels_last(x):
    return x.contiguous(memory_format=torch.channels_last if x.dim() == 4 else torch.channels_last_3d)


def tensors(v):
    return [v] if isinstance(v, torch.Tensor) else [t for e in v for t in tensors(e)]


def show(name, f, *xs, gradients=False):
    torch.manual_seed(0)
    print(name, [t.stride() for t in tensors(f(*xs))], end=" ")
    with FakeTensorMode() as mode:
        print([t.stride() for t in tensors(f(*[mode.from_tensor(x) for x in xs]))], end=" ")
    if gradients:
        xs = [x.detach().requires_grad_() for x in xs]
        out = f(*xs)
        print([g.stride() for g in torch.autograd.grad(out, xs, torch.ones_like(out))], end="")
    print()


a, b, v = torch.rand(2, 3, 4), torch.rand(2, 3, 4), torch.rand(2, 3, 1)
pairs = {
    "copysign": torch.copysign,
    "floor_divide": torch.floor_divide,
    "div floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "div trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "xlogy": torch.xlogy,
    "xlog1py": torch.special.xlog1py,
    "logaddexp": torch.logaddexp,
    "logaddexp2": torch.logaddexp2,
    "logical_and": torch.logical_and,
    "logical_xor of bools": lambda x, y: torch.logical_xor(x > 0, y > 0),
    "heaviside": torch.heaviside,
    "ldexp": torch.ldexp,
    "rsub": torch.rsub,
    "bce": lambda x, y: F.binary_cross_entropy(x.clamp(0.1, 0.9), y.expand(x.shape), reduction="none"),
}
for name, f in pairs.items():
    show(name, f, turned(a), b)
    show(name, f, a, reversed_order(b))
    show(name + ", broadcast", f, reversed_order(a), v)
    show(name + ", broadcast, turned", f, turned(a), reversed_order(v.expand(2, 3, 4)))
logits = lambda x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=torch.ones(4), reduction="none")
show("bce with logits", logits, turned(a), b, gradients=True)

one = {
    "bernoulli": torch.bernoulli,
    "bernoulli p": lambda x: torch.bernoulli(x, 0.5),
    "poisson": torch.poisson,
    "standard_gamma": torch._standard_gamma,
    "normal": lambda x: torch.normal(x, x),
    "binomial": lambda x: torch.binomial(x, x),
    "2 ** x": lambda x: 2.0**x,
    "float_power": lambda x: torch.float_power(2.0, x),
    "mvlgamma": lambda x: torch.mvlgamma(x + 3, 2),
    "isin": lambda x: torch.isin(x, torch.tensor([0.5])),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "channel_shuffle": lambda x: F.channel_shuffle(x.transpose(0, 1), 2).transpose(0, 1) if x.dim() < 3 else F.channel_shuffle(x[:, :2], 2),
    "fft2": torch.fft.fft2,
    "fftn": torch.fft.fftn,
    "rfft2": torch.fft.rfft2,
}
for name, f in one.items():
    show(name, f, turned(a))
    show(name, f, reversed_order(a))
show("native_dropout", lambda x: torch.native_dropout(x, 0.5, True)[0], turned(a), gradients=True)
show("masked_select", lambda x: torch.zeros_like(x).masked_scatter(x > 0, x), turned(a))
show("clamp", torch.clamp, turned(a), b)
show("addr", torch.addr, torch.rand(4, 3).t(), torch.rand(3), torch.rand(4), gradients=True)
show("addr", torch.addr, torch.rand(4), torch.rand(3), torch.rand(4))
bilinear = lambda x, y: F.bilinear(x, y, torch.ones(5, 3, 3))
show("bilinear", bilinear, a.transpose(1, 2), b.transpose(1, 2))
show("view_copy", lambda x: torch.view_copy(x, (6, 4)), turned(a))
print(torch.view_copy(torch.arange(6).reshape(2, 3).t(), (6,)))

image, volume = channels_last(torch.rand(2, 4, 6, 6)), channels_last(torch.rand(2, 3, 4, 5, 6))
show("channel_shuffle", lambda x: F.channel_shuffle(x, 2), image)
show("grid_sample", lambda x: F.grid_sample(x, torch.zeros(2, 3, 3, 2), align_corners=False), image)
show("rms_norm", lambda x: F.rms_norm(x, (6,)), image)
show("stack", lambda x, y: torch.stack([x, y], 1), image, image, gradients=True)
show("fractional_max_pool2d", lambda x: F.fractional_max_pool2d(x, 2, output_size=(2, 2)), image, gradients=True)
show("avg_pool3d", lambda x: F.avg_pool3d(x, 2), volume, gradients=True)
show("adaptive_avg_pool3d", lambda x: F.adaptive_avg_pool3d(x, 2), volume, gradients=True)
show("adaptive_max_pool3d", lambda x: F.adaptive_max_pool3d(x, 2), volume, gradients=True)
show("max_pool3d", lambda x: F.max_pool3d(x, 2), volume, gradients=True)
show("reflect", lambda x: F.pad(x, (1,) * 6, mode="reflect"), volume, gradients=True)
show("replicate", lambda x: F.pad(x, (1,) * 6, mode="replicate"), volume, gradients=True)

matrix = torch.rand(3, 4, 4) + 4 * torch.eye(4)
show("solve, vectors", torch.linalg.solve, matrix, torch.rand(3, 4))
show("solve, matrices", torch.linalg.solve, matrix, torch.rand(3, 4, 2))
show("triangular_solve", torch.triangular_solve, torch.rand(3, 4, 2), matrix)
