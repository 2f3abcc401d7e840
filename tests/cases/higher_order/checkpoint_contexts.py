# What a checkpoint takes as its `context_fn` where it is compiled: a function that is made in the compiled one is none of it.
import functools

import torch
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

SAVED = [torch.ops.aten.sin.default]
x = torch.ones(2, requires_grad=True)


def contexts():
    return create_selective_checkpoint_contexts(SAVED)


def policy(ctx, op, *args, **kwargs):
    return CheckpointPolicy.MUST_SAVE if op in SAVED else CheckpointPolicy.PREFER_RECOMPUTE


def body(t):
    return t.sin().cos()


def told(name, f, **options):
    torch._dynamo.reset()
    x.grad = None
    try:
        torch.compile(f, backend="aot_eager", **options)(x).sum().backward()
        print(name, x.grad)
    except Exception as e:
        print(name, type(e).__name__, str(e).split("\n")[0])


def call(x, context_fn):
    return checkpoint(body, x, use_reentrant=False, context_fn=context_fn)


def inside(x):
    def made():
        return contexts()

    return call(x, made)


def around():
    def made():
        return contexts()

    told("made around", lambda x: call(x, made))


def inner_policy(x):
    def mine(ctx, op, *args, **kwargs):
        return CheckpointPolicy.PREFER_RECOMPUTE

    return call(x, functools.partial(create_selective_checkpoint_contexts, mine))


told("lambda", lambda x: call(x, lambda: contexts()))
told("lambda of one graph", lambda x: call(x, lambda: contexts()), fullgraph=True)
told("made inside", inside)
told("named", lambda x: call(x, contexts))
told("partial", lambda x: call(x, functools.partial(create_selective_checkpoint_contexts, policy)))
told("partial of what is made inside", inner_policy)
around()
