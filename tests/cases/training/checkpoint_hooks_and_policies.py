import warnings
import torch
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts, CheckpointPolicy
import functools

ops = []


def policy(ctx, op, *args, **kwargs):
    return CheckpointPolicy.MUST_SAVE if op == torch.ops.aten.mm.default else CheckpointPolicy.PREFER_RECOMPUTE


def offload(ctx, op, *args, **kwargs):
    return CheckpointPolicy.MUST_CPU_OFFLOAD if op == torch.ops.aten.mm.default else CheckpointPolicy.MUST_RECOMPUTE


class Count(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ops.append(str(func))
        return func(*args, **(kwargs or {}))


def f(x, w):
    return (x @ w).sin() @ w


x = torch.ones(2, 3, requires_grad=True)
w = torch.full((3, 3), 0.5, requires_grad=True)
for p in (policy, offload):
    out = checkpoint(f, x, w, use_reentrant=False, context_fn=functools.partial(create_selective_checkpoint_contexts, p))
    ops.clear()
    with Count():
        out.sum().backward()
    print(p.__name__, ops.count("aten.mm.default"), x.grad[0, 0].item())
seen = []
for respect in (None, True, False):
    seen.clear()
    with warnings.catch_warnings(record=True) as w_:
        warnings.simplefilter("always")
        with torch.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(("pack", tuple(t.shape))), t)[1], lambda t: (seen.append(("unpack", tuple(t.shape))), t)[1]):
            out = checkpoint(f, x, w, use_reentrant=False, context_fn=functools.partial(create_selective_checkpoint_contexts, policy), respect_saved_tensors_hooks=respect)
        print(respect, [(str(m.message)[:40], m.category.__name__) for m in w_])
    print(seen)
    out.sum().backward()
    print(len(seen))
try:
    checkpoint(f, x, w, True, use_reentrant=True, context_fn=lambda: 0)
except (ValueError, TypeError) as e:
    print(e)


class Swallow:
    def __enter__(self):
        return self

    def __exit__(self, *a):
        return True


def bad(x):
    raise KeyError("no")


try:
    checkpoint(bad, x, use_reentrant=False, context_fn=lambda: (Swallow(), Swallow()))
except RuntimeError as e:
    print(e)
