"""A context_fn and its policy are called in every pass over a checkpointed body: what they count decides what is saved."""
import functools

import torch
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

calls = {"contexts": 0, "policy": 0}
x, w = torch.ones(2, 2, requires_grad=True), torch.eye(2, requires_grad=True)


def saves_products(ctx, op, *args, **kwargs):
    calls["policy"] += 1
    return CheckpointPolicy.MUST_SAVE if op is torch.ops.aten.mm.default else CheckpointPolicy.PREFER_RECOMPUTE


def counted():
    calls["contexts"] += 1
    return create_selective_checkpoint_contexts(saves_products)


def body(x, w):
    return torch.sin(x @ w).cos() @ w


f = torch.compile(lambda x, w: checkpoint(body, x, w, use_reentrant=False, context_fn=counted))
f(x, w).sum().backward()
print(calls)
f(x, w).sum().backward()
print(calls)

products = 0


def saves_every_other(ctx, op, *args, **kwargs):
    global products
    if op is not torch.ops.aten.mm.default:
        return CheckpointPolicy.PREFER_RECOMPUTE
    products += 1
    return CheckpointPolicy.MUST_SAVE if products % 2 else CheckpointPolicy.PREFER_RECOMPUTE


def layers(x, w):
    return ((x @ w).relu() @ w).relu() @ w


every_other = functools.partial(create_selective_checkpoint_contexts, saves_every_other)
g = torch.compile(lambda x, w: checkpoint(layers, x, w, use_reentrant=False, context_fn=every_other))
g(x, w).sum().backward()
print(products)

made = []


def saves_the_first():
    state = {"n": 0}
    made.append(state)

    def policy(ctx, op, *args, **kwargs):
        state["n"] += 1
        return CheckpointPolicy.MUST_SAVE if state["n"] < 3 else CheckpointPolicy.MUST_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


h = torch.compile(lambda x, w: checkpoint(layers, x, w, use_reentrant=False, context_fn=saves_the_first))
for _ in range(2):
    h(x, w).sum().backward()
    print(made)
