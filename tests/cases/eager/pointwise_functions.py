"""Pointwise functions and their gradients, of ranges, and of gradients of convolutions that skip places."""
import torch
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


def size(t):
    """Sums of a tensor's absolute values, as it is and moved by one: the second depends on signs."""
    t = t.detach().double()
    return "%.5e %.5e" % (t.abs().sum(), (t + 1).abs().sum())


FUNCTIONS = {
    "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1, "sin": torch.sin, "cos": torch.cos, "sinc": torch.sinc,
    "log1p": lambda x: torch.log1p(x * x), "gelu": F.gelu, "gelu tanh": lambda x: F.gelu(x, approximate="tanh"), "mish": F.mish,
    "softplus": F.softplus, "sharp softplus": lambda x: F.softplus(x, beta=2.0), "elu": F.elu, "selu": F.selu,
    "celu": lambda x: F.celu(x, 0.7), "logsigmoid": F.logsigmoid, "sigmoid": torch.sigmoid, "silu": F.silu,
    "glu": lambda x: F.glu(x, -1), "x^4": lambda x: x**4, "2^x": lambda x: 2.0**x, "10000^x": lambda x: torch.pow(10000.0, x),
    "x^-0.3": lambda x: (x * x + 0.1).pow(-0.3), "x^1.5": lambda x: (x * x + 0.1) ** 1.5, "x^x": lambda x: (x * x + 0.1).pow(x),
    "logaddexp": lambda x: torch.logaddexp(x, x * 2 + 1), "atan2": lambda x: torch.atan2(x, x * x - 1),
    "log_softmax": lambda x: x.log_softmax(-1), "logsumexp": lambda x: x.logsumexp(-1),
}
for sizes in [(2048,), (64, 16), (6, 38)]:
    for name, f in FUNCTIONS.items():
        x = (torch.randn(sizes) * 2).requires_grad_()
        y = f(x)
        (g,) = torch.autograd.grad(y, x, torch.randn(y.shape))
        print(name, sizes, size(y), size(g))
x = torch.randn(16, 64).t()
for name in ["gelu", "silu", "sigmoid", "softplus", "mish", "expm1", "x^-0.3"]:
    print(name, size(FUNCTIONS[name](x)), size(FUNCTIONS[name](x[:, ::2])))
for start, end, step in [(0, 10, 0.1), (0, 1, 0.001), (-1, 1, 0.01), (1, 100, 1.7)]:
    print(size(torch.arange(start, end, step)), size(torch.arange(start, end, step, dtype=torch.float64)))
for dtype in (torch.float16, torch.bfloat16, torch.int32, torch.uint8):
    print(torch.linspace(0, 2.55, 8, dtype=dtype).tolist(), torch.logspace(0, 2.5, 7, dtype=dtype).tolist())
print(size(torch.logspace(-1, 1, 64)))
print(size(torch.randn(7, 37).prod(-1)), size(torch.randn(64, 16).prod(-1)), size(torch.randn(64, 16).prod(0)))
for channels, out, size, kernel, stride, padding in [(8, 16, 16, 3, 2, 1), (3, 24, 12, 3, 2, 1), (8, 32, 16, 4, 2, 1), (4, 8, 12, 2, 2, 0)]:
    x, w = torch.randn(2, channels, size, size, requires_grad=True), torch.randn(out, channels, kernel, kernel, requires_grad=True)
    y = F.conv2d(x, w, None, stride, padding)
    print(size(y), *(size(g) for g in torch.autograd.grad(y, (x, w), torch.randn(y.shape))))
    print(size(F.conv_transpose2d(torch.randn(2, out, 6, 6), w, None, stride, padding)))
