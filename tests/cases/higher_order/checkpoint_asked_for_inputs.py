"""A reentrant checkpoint runs a backward of its own, and refuses where the backward around it is asked for the gradients of inputs."""

import torch
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


def attempt(what, run):
    try:
        print(what, run())
    except RuntimeError as error:
        print(what, type(error).__name__, error)


def through(x, reentrant=True):
    return checkpoint(lambda x: (x * 2).sin(), x, use_reentrant=reentrant).sum()


x = torch.ones(3, requires_grad=True)
attempt("grad", lambda: torch.autograd.grad(through(x), x))
attempt("backward of inputs", lambda: through(x).backward(inputs=[x]))
print(x.grad)
attempt("not reentrant", lambda: torch.autograd.grad(through(x, False), x))
attempt("backward", lambda: through(x).backward())
print(x.grad)

# Also where it lies beside what is asked for, or inside another one.
y = torch.ones(3, requires_grad=True)
attempt("beside", lambda: torch.autograd.grad((through(x) + y.sum()), y))
attempt("inside", lambda: checkpoint(through, x, use_reentrant=True).backward())
attempt("inside grad", lambda: torch.autograd.grad(checkpoint(through, x, use_reentrant=True), x))
layers = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Sigmoid())
attempt("sequential", lambda: torch.autograd.grad(checkpoint_sequential(layers, 2, x, use_reentrant=True).sum(), x))

# A backward that a hook runs is part of the one around it.
z = torch.ones(3, requires_grad=True)
w = z * 1
w.register_hook(lambda grad: through(x).backward())
attempt("in a hook of grad", lambda: torch.autograd.grad(w.sum(), z))
attempt("in a hook", lambda: (z * 1).sum().backward())

# What is asked for is forgotten after an error.
attempt("afterwards", lambda: through(x).backward())
print(torch.autograd._is_checkpoint_valid())
