import torch
@torch.library.custom_op("m::f", mutates_args=())
def f(x: torch.Tensor, k: int = 1) -> torch.Tensor:
    return x + k
for call in (lambda: f(), lambda: f(3), lambda: f(torch.ones(2), 1, 2), lambda: f(torch.ones(2), q=3), lambda: torch.ops.m.f(2.0), lambda: f(torch.ones(2), "a")):
    try:
        call()
    except Exception as e:
        print(type(e).__name__, str(e))
@torch.library.custom_op("m::same", mutates_args=())
def same(x: torch.Tensor) -> torch.Tensor:
    return x
try:
    same(torch.ones(2))
except RuntimeError as e:
    print(str(e).split("): ")[1])
for bad in ("def g(x) -> torch.Tensor: return x", "def g(x: dict) -> torch.Tensor: return x", "def g(x: torch.Tensor): return x", "def g(x: torch.Tensor) -> dict: return x", "def g(*x: torch.Tensor) -> torch.Tensor: return x"):
    ns = {"torch": torch}
    exec(bad, ns)
    try:
        torch.library.custom_op("m::g", mutates_args=())(ns["g"])
    except ValueError as e:
        print(str(e)[:60])
print(torch.ops.aten.add.Tensor._schema)
print(torch.ops.aten.sum.dim_IntList._schema.arguments[1].name, torch.ops.aten.add_.Tensor._schema.is_mutable)
from typing import List, Optional, Sequence
@torch.library.custom_op("m::cat2", mutates_args=())
def cat2(xs: Sequence[torch.Tensor], w: Optional[torch.Tensor] = None, dim: int = 0, *, scale: float = 2.0, mode: str = "a") -> List[torch.Tensor]:
    return [x * scale for x in xs]
print(cat2._opoverload._schema)
def sc(ctx, inputs, keyword_only_inputs, output):
    ctx.scale = keyword_only_inputs["scale"]
    ctx.n = len(inputs[0])
def bw(ctx, grads):
    return [g * ctx.scale for g in grads], None, None
cat2.register_autograd(bw, setup_context=sc)
cat2.register_fake(lambda xs, w=None, dim=0, *, scale=2.0, mode="a": [torch.empty_like(x) for x in xs])
a, b = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
p, q = cat2([a, b], scale=3.0)
(p.sum() + 2 * q.sum()).backward()
print(a.grad, b.grad)
@torch.compile
def fn(a, b):
    u, v = cat2([a, b * 2], scale=0.5, mode="b")
    return u.sum() * v
r = fn(a, b)
print(r)
r.sum().backward()
print(a.grad, b.grad)
@torch.library.custom_op("m::nz", mutates_args=())
def nz(x: torch.Tensor) -> torch.Tensor:
    return x.nonzero()
@nz.register_fake
def _(x):
    n = torch.library.get_ctx().new_dynamic_size()
    return x.new_empty([n, x.dim()], dtype=torch.int64)
print(nz(torch.tensor([0, 1, 2])))
@torch.compile
def fz(x):
    return nz(x * 2) + 1
print(fz(torch.tensor([0, 1, 2])))
with torch.no_grad():
    print(torch.vmap(lambda t: t + 1)(a))
