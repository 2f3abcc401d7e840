"""Products, convolutions, pools and activations, in the shapes that layers have."""
import torch
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)
R = torch.randn


def size(t):
    """Sums of a tensor's absolute values, as it is and moved by one: the second depends on signs."""
    t = t.detach().double()
    return "%.5e %.5e" % (t.abs().sum(), (t + 1).abs().sum())


def show(name, f, *shapes):
    given = [R(s).requires_grad_() for s in shapes]
    out = f(*given)
    grads = torch.autograd.grad(out, given, R(out.shape))
    print(name, *(tuple(s) for s in shapes), size(out), *(size(g) for g in grads))


for m, k, n in [(1, 4, 4), (1, 128, 64), (1, 40, 3), (2, 3, 4), (3, 784, 20), (4, 8, 16), (5, 7, 9), (8, 64, 2), (7, 33, 3), (16, 10, 1), (8, 256, 4), (10, 400, 12), (33, 65, 17), (100, 1, 30), (20, 900, 20)]:
    show("linear", F.linear, (m, k), (n, k), (n,))
    show("mm", torch.mm, (m, k), (k, n))
    show("mv", torch.mv, (m, k), (k,))
for b, m, k, n in [(2, 4, 8, 4), (2, 1, 64, 20), (2, 10, 64, 3), (3, 2, 64, 8), (4, 16, 32, 16)]:
    show("bmm", torch.bmm, (b, m, k), (b, k, n))
    show("attention", lambda q, k: q @ k.transpose(1, 2), (b, m, k), (b, n, k))
    show("baddbmm", lambda c, x, y: torch.baddbmm(c, x, y, beta=0.3, alpha=0.5), (b, m, n), (b, m, k), (b, k, n))
for n in (7, 20, 40, 100, 300):
    show("dot", torch.dot, (n,), (n,))
for batch, into, out, kernel, size, options in [(2, 3, 16, 3, 8, {"padding": 1}), (2, 32, 24, 3, 5, {"padding": 1}), (2, 8, 8, 3, 6, {"groups": 8}), (2, 16, 32, 1, 5, {}), (1, 4, 6, 3, 6, {}), (2, 6, 16, 5, 7, {})]:
    shapes = ((out, into // options.get("groups", 1), kernel, kernel), (out,))
    show("conv2d", lambda x, w, b: F.conv2d(x, w, b, **options), (batch, into, size, size), *shapes)
    show("conv1d", lambda x, w, b: F.conv1d(x, w, b, **options), (batch, into, size * 2), shapes[0][:3], shapes[1])
show("transposed", F.conv_transpose2d, (2, 32, 4, 4), (32, 8, 3, 3), (8,))
show("pool", lambda x: F.avg_pool2d(x, 3, 1, 1), (2, 3, 7, 7))
show("adaptive", lambda x: F.adaptive_avg_pool2d(x, 3), (2, 3, 8, 8))
for n in (5, 32, 45):
    for f in (torch.sigmoid, F.silu):
        show(f.__name__, f, (n,))
        show(f.__name__, lambda x: f(x[:, 1:]), (3, n + 1))
x = R(50).requires_grad_()
print("gelu's gradient", size(torch.autograd.grad(F.gelu(x), x, R(50))[0]))
