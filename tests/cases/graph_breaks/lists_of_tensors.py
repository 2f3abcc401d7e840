"""Operators on lists of tensors: eagerly, compiled, differentiated; gradients clipped in compiled functions."""
import torch

xs, ys = [torch.ones(2), torch.arange(3.0)], [torch.full((2,), 2.0), torch.ones(3)]
print(torch._foreach_add(xs, ys, alpha=2), torch._foreach_mul(xs, 3.0), torch._foreach_mul(xs, torch.tensor(0.5)))
print(torch._foreach_norm(xs), torch._foreach_norm(xs, 1.0), torch._foreach_pow(2.0, xs), torch._foreach_max(xs))
print(torch._foreach_add_(xs, [1.0, 2.0]) is xs, torch._foreach_addcdiv_(xs, ys, ys, value=0.5), torch._foreach_lerp_(xs, ys, 0.25))
print(torch._foreach_maximum(xs, ys), torch._foreach_clamp_min(xs, 1.5), torch._foreach_sub(xs, 1), torch._foreach_sqrt(ys))
for bad in (lambda: torch._foreach_exp([]), lambda: torch._foreach_add(xs, [1.0]), lambda: torch._foreach_mul(xs, ys[:1])):
    try:
        bad()
    except RuntimeError as e:
        print(e)

p = [torch.ones(2, requires_grad=True), torch.full((3,), 0.5, requires_grad=True)]
r = torch._foreach_mul(p, ys)
print(r)
sum(t.sum() for t in r).backward()
print(p[0].grad, p[1].grad)
q = torch._foreach_mul(p, 2)
torch._foreach_mul_(q, 3)
print(q)


@torch.compile
def together(a, b):
    c = torch._foreach_mul(a, b)
    torch._foreach_add_(c, 1.0)
    return torch._foreach_exp(c), torch._foreach_norm(c)


es, ns = together(p, ys)
print(es, ns)
(sum(t.sum() for t in es) + sum(ns)).backward()
print(p[0].grad, p[1].grad)

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
x, y = torch.randn(16, 4), torch.randn(16, 1)


@torch.compile
def clip(parameters):
    return torch.nn.utils.clip_grad_norm_(parameters, 0.01)


@torch.compile
def clip_values():
    torch.nn.utils.clip_grad_value_(model.parameters(), 0.001)


((model(x) - y) ** 2).mean().backward()
print(clip(list(model.parameters())), clip(list(model.parameters())))
clip_values()
print(model[2].weight.grad)
