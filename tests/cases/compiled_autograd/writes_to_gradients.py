# What hooks and compiled code do to `.grad` and to parameters holds.
import torch
import torch._dynamo.compiled_autograd as ca


@torch.compile(backend="aot_eager")
def assign(p, g):
    p.grad = g * 2
    return p.grad + 1


@torch.compile(backend="aot_eager")
def clear(p):
    p.grad = None


p = torch.ones(2, requires_grad=True)
print(assign(p, torch.ones(2)), p.grad)
print(assign(p, torch.full((2,), 3.0)), p.grad)
clear(p)
print(p.grad)

log = []


@torch.compile(backend="eager")
def listed(p, g):
    p.grad = g * 2
    log.append(p.grad.tolist())
    log.append((g + 1).tolist())


listed(p, torch.ones(2))
print(log, p.grad)


def drop(q):
    log.append(q.grad.sum().item())
    q.grad = None


q = torch.tensor([1.0, 2.0], requires_grad=True)
q.register_post_accumulate_grad_hook(drop)
q.register_hook(lambda g: log.append(g.max().item()))
with ca._enable(torch.compile(backend="eager")):
    (q * q).sum().backward()
print(log[2:])
