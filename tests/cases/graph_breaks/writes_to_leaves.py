# A write to a leaf that requires grad is refused while it is traced, unless a graph that was compiled for another tensor serves it.
import torch


def told(name, f, *args):
    try:
        print(name, f(*args))
    except Exception as e:
        lines = str(e).split("\n")
        print(name, type(e).__name__, lines[0], "mul_" in str(e))


def leaf():
    return torch.tensor([0.5, 1.0], requires_grad=True)


@torch.compile
def writes(x, w):
    x.mul_(w)
    return x.sin()


told("leaf", writes, leaf(), torch.ones(2))
torch._dynamo.reset()
told("no leaf", writes, leaf() * 1, leaf())
told("a leaf of the same kind", writes, leaf(), leaf())
told("another operand", writes, leaf(), torch.ones(2))


@torch.compile
def breaks(x):
    y = x + 1
    print("between")
    x.mul_(2)
    return y


told("after a break", breaks, leaf())


@torch.compile
def makes(x):
    w = torch.ones(2, requires_grad=True)
    w.mul_(2)
    return x * w


told("made inside", makes, torch.ones(2))


@torch.compile
def without(x):
    with torch.no_grad():
        x.mul_(2)
    return x * 2


told("without gradients", without, leaf())
