# In a level of grad, vjp or jacrev, what is saved is that level's: hooks on saved tensors, and checkpoints made of them, are refused.
import torch
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from torch.utils.checkpoint import checkpoint


def checkpointed(x):
    return checkpoint(lambda q: q.sin().exp(), x, use_reentrant=False).sum()


def hooked(x):
    with saved_tensors_hooks(lambda t: t * 0, lambda t: t):
        return x.sin().sum()


def moved(x):
    with save_on_cpu():
        return (x * x).sum()


x = torch.tensor([1.0, 2.0])
for function in (checkpointed, hooked, moved):
    for transform in (torch.func.grad, torch.func.jacrev, torch.func.hessian, lambda f: lambda x: torch.func.vjp(f, x)[0]):
        try:
            print(transform(function)(x))
        except RuntimeError as error:
            print(error)
    try:
        torch.vmap(function)(x.reshape(2, 1))
        print("vmap runs it")
    except RuntimeError as error:
        print(error)
w = x.clone().requires_grad_()
checkpointed(w).backward()
print(w.grad)
with saved_tensors_hooks(lambda t: t, lambda t: t):
    try:
        print(torch.func.grad(lambda v: v.sin().sum())(x))
    except RuntimeError as error:
        print(error)
    try:
        with torch.autograd.graph.disable_saved_tensors_hooks("none here"):
            print("none")
    except RuntimeError as error:
        print(error)
