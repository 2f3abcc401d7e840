"""`opcheck` on operators that are wrong in one way each: what it says of them."""
import torch
from torch.library import opcheck
@torch.library.custom_op("mine::good", mutates_args=())
def good(x: torch.Tensor, k: float) -> torch.Tensor:
    return x * k
@good.register_fake
def _(x, k): return torch.empty_like(x)
def setup(ctx, inputs, output): ctx.k = inputs[1]
def back(ctx, g): return g * ctx.k, None
good.register_autograd(back, setup_context=setup)
print(opcheck(good, (torch.randn(3), 2.0)))
print(opcheck(good, (torch.randn(3, requires_grad=True), 2.0)))
print(opcheck(torch.ops.mine.good.default, (torch.randn(3), 2.0), test_utils="test_schema"))
print(opcheck(torch.ops.mine.good, (torch.randn(3),), {"k": 2.0}, test_utils=("test_schema", "test_faketensor")))
def t(f):
    try: print(f())
    except Exception as e: print(type(e).__module__, type(e).__name__, str(e).split(" (with")[0][:300])
@torch.library.custom_op("mine::nofake", mutates_args=())
def nofake(x: torch.Tensor) -> torch.Tensor: return x.sin()
t(lambda: opcheck(nofake, (torch.randn(3),)))
r = opcheck(nofake, (torch.randn(3),), raise_exception=False)
for k, v in r.items(): print(k, type(v).__name__, str(v)[:300])
@torch.library.custom_op("mine::mutates", mutates_args=())
def mutates(x: torch.Tensor) -> torch.Tensor:
    x.add_(1); return x.clone()
@mutates.register_fake
def _(x): return torch.empty_like(x)
t(lambda: opcheck(mutates, (torch.randn(3),)))
@torch.library.custom_op("mine::alias", mutates_args=())
def alias(x: torch.Tensor) -> torch.Tensor: return x.view(-1)
@alias.register_fake
def _(x): return torch.empty_like(x)
t(lambda: opcheck(alias, (torch.randn(3),)))
@torch.library.custom_op("mine::wrong", mutates_args=())
def wrong(x: torch.Tensor) -> torch.Tensor: return x.sum(0)
@wrong.register_fake
def _(x): return torch.empty_like(x)
t(lambda: opcheck(wrong, (torch.randn(3, 2),)))
@torch.library.custom_op("mine::wrongdtype", mutates_args=())
def wrongdtype(x: torch.Tensor) -> torch.Tensor: return x.to(torch.float64)
@wrongdtype.register_fake
def _(x): return torch.empty_like(x)
t(lambda: opcheck(wrongdtype, (torch.randn(3, 2),)))
@torch.library.custom_op("mine::wrongstride", mutates_args=())
def wrongstride(x: torch.Tensor) -> torch.Tensor: return x.t().contiguous().t()
@wrongstride.register_fake
def _(x): return torch.empty_like(x)
t(lambda: opcheck(wrongstride, (torch.randn(3, 2),)))
lib = torch.library.Library("mine2", "FRAGMENT")
lib.define("noautograd(Tensor x) -> Tensor")
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x*2
    @staticmethod
    def backward(ctx, g): return g*2
lib.impl("noautograd", lambda x: F.apply(x), "CPU")
lib._register_fake("noautograd", lambda x: torch.empty_like(x))
t(lambda: opcheck(torch.ops.mine2.noautograd.default, (torch.randn(3, requires_grad=True),)))
@torch.library.custom_op("mine::wronggrad", mutates_args=())
def wronggrad(x: torch.Tensor) -> torch.Tensor: return x * 2
@wronggrad.register_fake
def _(x): return torch.empty_like(x)
t(lambda: opcheck(wronggrad, (torch.randn(3, requires_grad=True),)))
t(lambda: opcheck(torch.ops.aten.sin.default, (torch.randn(3),)))
t(lambda: opcheck(good, (torch.randn(3), 2.0), test_utils="test_foo"))
t(lambda: opcheck(lambda x: x, (torch.randn(3),)))
@torch.library.custom_op("mine::inplace", mutates_args={"x"})
def inplace(x: torch.Tensor) -> None: x.mul_(2)
t(lambda: opcheck(inplace, (torch.randn(3),)))
t(lambda: opcheck(inplace, (torch.randn(3, requires_grad=True),)))
@torch.library.custom_op("mine::several", mutates_args=())
def several(xs: list[torch.Tensor], n: int = 2) -> tuple[torch.Tensor, torch.Tensor]: return xs[0]*n, torch.stack(xs)
@several.register_fake
def _(xs, n=2): return torch.empty_like(xs[0]), xs[0].new_empty(len(xs), *xs[0].shape)
t(lambda: opcheck(several, ([torch.randn(3), torch.randn(3)],)))
@torch.library.custom_op("mine::nonz", mutates_args=())
def nonz(x: torch.Tensor) -> torch.Tensor: return x.nonzero()
@nonz.register_fake
def _(x):
    ctx = torch.library.get_ctx(); n = ctx.new_dynamic_size()
    return x.new_empty(n, x.dim(), dtype=torch.int64)
t(lambda: opcheck(nonz, (torch.tensor([0., 1., 2.]),)))
