# The gradients of two results come of one tangent: the backward's call would be given the same memory twice.
import torch


@torch.compile
def choose(x, w):
    first, second = torch.cond(x.sum() > 1, lambda x, w: (x * w, x.sum()), lambda x, w: (x - w, w.sum()), (x, w))
    return first.sum() + second


try:
    choose(torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True))
except Exception as error:
    print(type(error).__name__, str(error).splitlines()[1])
