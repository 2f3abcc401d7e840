import torch, torch.nn as nn
from torch.autograd import Function
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
torch.manual_seed(0)
class Clamp(Function):
    @staticmethod
    def forward(ctx, x, lo, hi):
        ctx.save_for_backward(x); ctx.lo, ctx.hi = lo, hi; ctx.set_materialize_grads(False)
        return x.clamp(lo, hi), (x < lo).sum()
    @staticmethod
    def backward(ctx, g, _):
        if g is None: return None, None, None
        x, = ctx.saved_tensors
        return g * ((x >= ctx.lo) & (x <= ctx.hi)), None, None
class STE(Function):
    @staticmethod
    def forward(ctx, x, bits):
        s = x.abs().max() / (2 ** (bits - 1) - 1); ctx.mark_non_differentiable(s); return (x / s).round() * s, s
    @staticmethod
    def backward(ctx, g, gs): return g, None
class MyLinear(Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x, w, b): return x @ w.t() + b
    @staticmethod
    def setup_context(ctx, inputs, output): ctx.save_for_backward(*inputs[:2])
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w, (g.t() @ x) if ctx.needs_input_grad[1] else None, g.sum(0)
lin = nn.Linear(4, 3); w = nn.Parameter(torch.randn(3, 4))
@torch.compile
def f(x):
    y, n = Clamp.apply(x, -0.5, 0.5); q, s = STE.apply(w, 4)
    return MyLinear.apply(y, q, lin.bias).tanh().sum() + n, s
x = torch.randn(5, 4, requires_grad=True); l, s = f(x); l.backward(); print(l, s, x.grad.abs().sum(), w.grad.norm(), lin.bias.grad)
blocks = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Dropout(0.5)) for _ in range(4)])
@torch.compile
def h(x):
    y = checkpoint(blocks[0], x, use_reentrant=False)
    y = checkpoint(lambda a, *, k: blocks[1](a) * k, y, k=2.0, use_reentrant=False, preserve_rng_state=True)
    return checkpoint_sequential(blocks[2:], 2, y, use_reentrant=False).sum()
torch.manual_seed(1); o = h(x); x.grad = None; o.backward(); print(o, x.grad.norm())
from functools import partial
from torch.utils.checkpoint import create_selective_checkpoint_contexts, CheckpointPolicy
def policy(ctx, op, *args, **kwargs):
    return CheckpointPolicy.MUST_SAVE if op in (torch.ops.aten.addmm.default, torch.ops.aten.mm.default) else CheckpointPolicy.PREFER_RECOMPUTE
@torch.compile
def sac(x):
    return checkpoint(blocks[0][:2], x, use_reentrant=False, context_fn=partial(create_selective_checkpoint_contexts, policy)).sum()
x.grad = None; sac(x).backward(); print(x.grad.norm())
@torch.compile
def hooked(x):
    y = x * 2; y.register_hook(lambda g: g * 10); z = y.sin(); return z.sum()
x.grad = None; hooked(x).backward(); print(x.grad.norm())
@torch.compile
def inner(x):
    y = (x ** 3).sum(); g, = torch.autograd.grad(y, x, create_graph=True); return (g ** 2).sum()
try:
    x.grad = None; o = inner(x); o.backward(); print(o, x.grad.norm())
except Exception as e: print(type(e).__name__, str(e)[:80])
@torch.compile
def cond(p, x): return torch.cond(p, lambda x: x.sin(), lambda x: x.cos(), (x,))
print(cond(torch.tensor(True), torch.ones(2)), cond(torch.tensor(False), torch.ones(2)))
@torch.library.custom_op("my::scale", mutates_args=())
def scale(x: torch.Tensor, k: float) -> torch.Tensor: return x * k
@scale.register_fake
def _(x, k): return torch.empty_like(x)
scale.register_autograd(lambda ctx, g: (g * ctx.k, None), setup_context=lambda ctx, inputs, output: setattr(ctx, "k", inputs[1]))
@torch.library.custom_op("my::acc_", mutates_args={"out"})
def acc_(out: torch.Tensor, x: torch.Tensor) -> None: out.add_(x)
@torch.compile
def custom(x):
    out = torch.zeros_like(x); acc_(out, x.detach()); acc_(out, x.detach()); return scale(x, 3.0).sum() + out.sum(), out
x.grad = None; l, out = custom(x); l.backward(); print(l, x.grad.mean(), out.sum())
