# What a custom function may not say of its tensors, and what it may not do to them.
import torch
from torch.autograd import Function


def case(name, f):
    try:
        print(name, "->", f())
    except Exception as e:
        print(name, "!!", type(e).__name__, str(e).splitlines()[0][:140])


def G(*s):
    return torch.arange(1.0, 1.0 + torch.Size(s).numel()).reshape(s).requires_grad_()


def make(forward, backward=lambda ctx, g: g):
    return type("F", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def dirty(ctx, x):
    ctx.mark_dirty(x)
    x.add_(1)
    return x


def dirty_not_returned(ctx, x):
    ctx.mark_dirty(x)
    x.add_(1)
    return x * 2


def constant_input(ctx, x):
    ctx.mark_non_differentiable(x)
    return x


def constant_list(ctx, x):
    ctx.mark_non_differentiable([x])
    return x * 2


def kept(ctx, x):
    ctx.save_for_backward(x)
    return x * 2


def kept_backward(ctx, g):
    return g * ctx.saved_tensors[0]


class Kept(Function):
    forward = staticmethod(kept)
    backward = staticmethod(kept_backward)


@torch.compile
def written_since(x):
    y = x * 1
    z = Kept.apply(y)
    y.add_(1)
    return z


case("dirty, not returned", lambda: make(dirty_not_returned).apply(G(2) * 1))
case("dirty leaf", lambda: make(dirty).apply(G(2)))
case("dirty view", lambda: make(dirty).apply((G(2) * 1)[:1]))
case("constant input", lambda: make(constant_input).apply(G(2) * 1).requires_grad)
case("constant list", lambda: make(constant_list).apply(G(2)))
case("gradient of a number", lambda: make(lambda ctx, x, k: x * k, lambda ctx, g: (g, g)).apply(G(2), 2.0).sum().backward())
case("two views, written to", lambda: make(lambda ctx, x: (x.view(-1), x.view(1, -1)), lambda ctx, a, b: a).apply(G(2) * 1)[0].add_(1))
case("one view, written to", lambda: make(lambda ctx, x: x.view(-1)).apply(G(2) * 1).add_(1))
case("saved, then written to", lambda: make(kept, kept_backward).apply(G(2) * 1).sum().backward())
case("resized", lambda: G(2).resize_(3))
x = G(2)
try:
    written_since(x).sum().backward()
    print(x.grad)
except RuntimeError as e:
    print([line for line in str(e).splitlines() if "modified" in line][0][-150:])
lib = torch.library.Library("misused", "DEF")
lib.define("f(Tensor x) -> Tensor")
case("defined twice", lambda: lib.define("f(Tensor x) -> Tensor"))
