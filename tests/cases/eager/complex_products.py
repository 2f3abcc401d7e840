# Products of complex matrices, and convolutions, with their gradients.
import torch
import torch.nn.functional as F


def numbers(*sizes):
    count = torch.Size(sizes).numel()
    base = torch.arange(count, dtype=torch.float64)
    return torch.complex((base * 0.37).sin(), (base * 0.71 + 1).cos()).reshape(sizes)


def show(x):
    x = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
    return [round(v, 4) + 0.0 for v in x.flatten().tolist()]


def check(name, f, *inputs):
    inputs = [x.clone().requires_grad_() for x in inputs]
    out = f(*inputs)
    weights = numbers(*out.shape).conj()
    (out * weights).sum().abs().backward()
    print(name, out.dtype, tuple(out.shape), show(out)[:6])
    for x in inputs:
        print("   ", show(x.grad)[:6])


A, B, v, w = numbers(3, 3), numbers(3, 3) * 0.5 + 1, numbers(3), numbers(3) + 1j
T = numbers(2, 3, 3)
check("addmm", lambda v, a, b: torch.addmm(v, a, b, beta=2, alpha=1j), v, A, B)
check("addmv", lambda v, a, w: torch.addmv(v, a, w, beta=1 + 1j, alpha=0.5j), v, A, w)
check("addr", lambda a, v, w: torch.addr(a, v, w, alpha=2j), A, v, w)
check("baddbmm", lambda t, u: torch.baddbmm(t, t, u, alpha=1j), T, T + 1)
check("addbmm", lambda a, t: torch.addbmm(a, t, t), A, T)
check("add", lambda a, b: torch.add(a, b, alpha=2j), A, B)
check("rsub", lambda a, b: torch.rsub(a, b, alpha=2j), A, B)
check("linear", F.linear, A, B, v)
check("conv1d", F.conv1d, numbers(2, 3, 4), numbers(2, 3, 2), numbers(2))
check("conv2d", lambda x, k: F.conv2d(x, k, stride=2, padding=1), numbers(1, 2, 4, 4), numbers(3, 2, 2, 2))
check("conv_transpose1d", F.conv_transpose1d, numbers(2, 3, 4), numbers(3, 2, 2))
check("conv3d", F.conv3d, numbers(1, 1, 2, 2, 2), numbers(1, 1, 1, 2, 1))
check("cross", torch.linalg.cross, A, B)
layer = torch.nn.Linear(3, 2, dtype=torch.complex64)
print(layer(A.to(torch.complex64)).shape, torch.addmm(v, A, B, beta=0).isnan().any())
