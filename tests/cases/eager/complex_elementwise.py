# Functions and reductions of complex numbers, with their gradients; what is refused, in PyTorch's words.
import torch
import torch.nn.functional as F


def numbers(*sizes):
    count = torch.Size(sizes).numel()
    base = torch.arange(count, dtype=torch.float64)
    return torch.complex((base * 0.37).sin(), (base * 0.71 + 1).cos()).reshape(sizes)


def show(x):
    x = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
    return [round(v, 4) + 0.0 for v in x.flatten().tolist()]


A, B = numbers(3, 3) - 0.3, numbers(3, 3) * 0.5 + 1
functions = "exp2 asin acos atan asinh acosh atanh sinc sigmoid tanh sgn nan_to_num var std prod rsqrt square"
cases = {name: getattr(torch, name) for name in functions.split()}
cases |= {
    "pow": lambda a: a**1.5,
    "complex pow": lambda a: a ** (1 + 2j),
    "rpow": lambda a: 2**a,
    "complex rpow": lambda a: (1 + 1j) ** a,
    "negative rpow": lambda a: (-2) ** a,
    "pow tensor": lambda a: a**B,
    "float_power": lambda a: torch.float_power(a, 2),
    "prod dim": lambda a: a.prod(1),
    "cumprod": lambda a: a.cumprod(0),
    "var dim": lambda a: a.var(0),
    "std_mean": lambda a: torch.std_mean(a, 0)[1],
    "var_mean": lambda a: torch.var_mean(a)[0],
    "logsumexp": lambda a: torch.logsumexp(a, 0),
    "logcumsumexp": lambda a: torch.logcumsumexp(a, 0),
    "lerp": lambda a: torch.lerp(a, B, 0.25),
    "lerp tensor": lambda a: torch.lerp(a, B, a),
    "addcmul": lambda a: torch.addcmul(a, a, B, value=1j),
    "addcdiv": lambda a: torch.addcdiv(a, B, a),
    "ldexp": lambda a: torch.ldexp(a, torch.tensor(2)),
    "logaddexp": lambda a: torch.logaddexp(a, B),
    "dist": lambda a: torch.dist(a, B),
    "real factor": lambda a: torch.addcmul(a.real, a, B.real),
}
for name, f in cases.items():
    a = A.clone().requires_grad_()
    out = f(a)
    (out * numbers(*out.shape)).sum().abs().backward()
    print(name, out.dtype, show(out.detach())[:6], show(a.grad)[:6])

zeros = torch.tensor([1j, 0, 2])
print(zeros.any(), zeros.all(), zeros.count_nonzero(), zeros.nonzero().tolist(), zeros.cumprod(0).tolist(), F.silu(zeros)[1])
print(show(torch.linspace(0, 1j, 3)), show(torch.logspace(0, 1j, 3)))
x = torch.tensor([0.5], requires_grad=True)
(x * torch.tensor([1j])).abs().sum().backward()
print(x.grad)
refused = {
    "interpolate": lambda c: F.interpolate(c[None], scale_factor=2),
    "linear": lambda c: F.interpolate(c[None], scale_factor=2, mode="linear"),
    "softplus": F.softplus,
    "elu": F.elu,
    "gelu": F.gelu,
    "hypot": lambda c: torch.hypot(c, c),
    "minimum": lambda c: torch.minimum(c, c),
}
for name, f in refused.items():
    try:
        f(A)
    except (NotImplementedError, TypeError) as e:
        print(name, type(e).__name__, str(e).split("\n")[0])
