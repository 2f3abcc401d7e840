import torch
lib = torch.library.Library("proj", "DEF")
lib.define("axpy(Tensor x, Tensor y, float alpha=1.0) -> Tensor")
lib.define("split_sum(Tensor x, int[] sizes) -> Tensor[]")
lib.define("stats(Tensor x, int? dim=None) -> (Tensor mean, Tensor std)")

@torch.library.impl(lib, "axpy", "CPU")
def axpy(x, y, alpha=1.0):
    return x * alpha + y

@torch.library.register_fake("proj::axpy", lib=lib)
def axpy_fake(x, y, alpha=1.0):
    torch._check(x.shape == y.shape)
    return torch.empty_like(x)

def split_sum(x, sizes):
    return [p.sum(0) for p in x.split(list(sizes))]
lib.impl("split_sum", split_sum, "CompositeImplicitAutograd")

def stats(x, dim=None):
    if dim is None:
        return x.mean(), x.std()
    return x.mean(dim), x.std(dim)
lib.impl("stats", stats, "CompositeExplicitAutograd")

def setup(ctx, inputs, output):
    ctx.alpha = inputs[2]
def bwd(ctx, g):
    return g * ctx.alpha, g, None
torch.library.register_autograd("proj::axpy", bwd, setup_context=setup, lib=lib)

torch.manual_seed(1)
x = torch.randn(4, 3, requires_grad=True)
y = torch.randn(4, 3, requires_grad=True)
r = torch.ops.proj.axpy(x, y, alpha=2.0)
print(r.shape, r.grad_fn.name() if hasattr(r.grad_fn, "name") else r.grad_fn)
parts = torch.ops.proj.split_sum(x, [1, 3])
print([p.shape for p in parts], parts[1].grad_fn.name())
print(torch.ops.proj.stats(x.detach(), 0))
m, s = torch.ops.proj.stats(x.detach())
print(f"{m.item():.4f} {s.item():.4f}")

@torch.compile
def f(x, y):
    a = torch.ops.proj.axpy(x, y, 3.0)
    p, q = torch.ops.proj.split_sum(a, [1, 3])
    return (p * q).sum()
l = f(x, y)
print(l)
l.backward()
print(x.grad, y.grad)
try:
    torch.ops.proj.nothing(x)
except AttributeError as e:
    print(e)
try:
    torch.ops.proj.axpy(x)
except (RuntimeError, TypeError) as e:
    print(type(e).__name__, str(e).splitlines()[0])
@torch.library.custom_op("proj::nofake", mutates_args=())
def nofake(x: torch.Tensor) -> torch.Tensor:
    return x + 1
@torch.compile
def g(x):
    return nofake(x * 2) * 3
try:
    print(g(x.detach()))
except Exception as e:
    print(type(e).__name__, str(e)[:400])
try:
    nofake(x).sum().backward()
except RuntimeError as e:
    print(e)
