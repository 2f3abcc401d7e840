import torch, functools
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts, CheckpointPolicy
def fn(x, y):
    return torch.sigmoid(torch.matmul(torch.matmul(x, y), y)) * y
def policy(ctx, op, *args, **kwargs):
    return CheckpointPolicy.MUST_SAVE if op == torch.ops.aten.mm.default else CheckpointPolicy.MUST_RECOMPUTE
for p in ([torch.ops.aten.mm.default], policy):
    @torch.compile(backend="aot_eager")
    def f(x, y):
        return checkpoint(fn, x, y, use_reentrant=False, context_fn=functools.partial(create_selective_checkpoint_contexts, p)).sum()
    torch.manual_seed(0)
    x = torch.randn(4, 4, requires_grad=True); y = torch.randn(4, 4, requires_grad=True)
    f(x, y).backward()
    f(x, y).backward()
    print(x.grad.round(decimals=3), y.grad.round(decimals=3))
