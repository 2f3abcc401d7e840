"""Selective checkpoints without compiling: what the policy is asked, what runs again in backward, and what is refused."""
from collections import Counter

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts


class Count(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls[str(func)] += 1
        return func(*args, **(kwargs or {}))


asked = Counter()


def policy(ctx, op, *args, **kwargs):
    asked[str(op), ctx.is_recompute, tuple(ctx.op_output.shape)] += 1
    return CheckpointPolicy.MUST_SAVE if op is torch.ops.aten.mm.default else CheckpointPolicy.PREFER_RECOMPUTE


def body(x, w):
    return torch.sigmoid(x @ w) @ w.t()


x = torch.ones(2, 3, requires_grad=True)
w = torch.full((3, 3), 0.5, requires_grad=True)
listed = [torch.ops.aten.mm.default, torch.ops.aten.sigmoid.default]
truth = lambda ctx, op, *args, **kwargs: op is torch.ops.aten.sigmoid.default
for name, chosen in (("full", None), ("policy", policy), ("list", listed), ("truth", truth)):
    more = {} if chosen is None else {"context_fn": lambda: create_selective_checkpoint_contexts(chosen)}
    y = checkpoint(body, x, w, use_reentrant=False, **more).sum()
    with Count() as backward:
        y.backward()
    print(name, {op: n for op, n in sorted(backward.calls.items()) if "mm" in op or op == "aten.sigmoid.default"})
print(sorted(asked.items()))
print(x.grad, w.grad)


def attempt(name, call):
    try:
        print(name, call())
    except Exception as error:
        print(name, type(error).__name__, error)


selective = lambda chosen, **more: {"context_fn": lambda: create_selective_checkpoint_contexts(chosen, **more), "use_reentrant": False}


def again():
    y = checkpoint(body, x, w, **selective(listed)).sum()
    y.backward(retain_graph=True)
    y.backward()


attempt("second backward", again)
calls = []


def changes(x):
    calls.append(1)
    return x.sin().exp() if len(calls) == 1 else x.cos().exp()


attempt("another operator", lambda: checkpoint(changes, x, **selective([torch.ops.aten.exp.default])).sum().backward())


def written(x, keep):
    y = x.sin()
    keep.append(y)
    return y.exp().exp()


def writes(**more):
    keep = []
    y = checkpoint(written, x, keep, **selective([torch.ops.aten.sin.default], **more)).sum()
    with torch.no_grad():
        keep[0].mul_(2.0)
    x.grad = None
    y.backward()
    return x.grad


attempt("written", writes)
attempt("written, allowed", lambda: writes(allow_cache_entry_mutation=True))
attempt("no operator", lambda: create_selective_checkpoint_contexts([torch.ops.aten.mm]))
attempt("no policy", lambda: create_selective_checkpoint_contexts(3))
