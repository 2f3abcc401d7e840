"""Transforms of functions that are kept out of compilation, of checkpoints, and of functions with hooks on what is saved."""

import torch
import torch.autograd.forward_ad as forward_ad
from torch.autograd.graph import disable_saved_tensors_hooks, saved_tensors_hooks
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from torch.utils.checkpoint import checkpoint

x = torch.tensor([1.0, 2.0])


@torch.compiler.disable
def disabled(v):
    return v.sin()


def checkpointed(v):
    return checkpoint(torch.sin, v, use_reentrant=False).sum()


def hooked(v):
    with saved_tensors_hooks(lambda t: t * 2, lambda t: t):
        return (v * v).sum()


def shows(name, call):
    try:
        print(name, call())
    except RuntimeError as error:
        print(name, error)


print(vmap(disabled)(x), grad(lambda v: disabled(v).sum())(x), jvp(disabled, (x,), (x,)))
with forward_ad.dual_level():
    print(forward_ad.unpack_dual(checkpoint(torch.sin, forward_ad.make_dual(x, x), use_reentrant=False)))
for function in checkpointed, hooked:
    shows("grad", lambda: grad(function)(x))
    shows("vjp", lambda: vjp(function, x)[0])
    shows("jacrev", lambda: jacrev(function)(x))
    shows("jacfwd", lambda: jacfwd(function)(x))
    shows("hessian", lambda: hessian(function)(x))
    shows("vmap", lambda: vmap(function)(x[None]))
    shows("jvp", lambda: jvp(function, (x,), (x,)))
    shows("vmap of grad", lambda: vmap(grad(function))(x[None]))
with saved_tensors_hooks(lambda t: t, lambda t: t):
    shows("inside of hooks", lambda: grad(lambda v: (v * v).sum())(x))
    shows("disabled", lambda: disable_saved_tensors_hooks("no hooks here").__enter__())
shows("after", lambda: grad(lambda v: (v * v).sum())(x))
