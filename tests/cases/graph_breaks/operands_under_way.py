"""Values that an expression holds while its graph ends, tensors that a call gives again, and jumps over long code."""
import torch

counts = torch.tensor([3.0, 0.0, 2.0])


@torch.compile(backend="aot_eager")
def held(x):
    z = x.sin()
    return z + counts.sum().item()


@torch.compile(backend="aot_eager")
def held_twice(x, flag):
    z = x.exp()
    parts = [z * 2, z + 1]
    return torch.stack(parts if flag else parts[::-1]) * (z.sum() + counts.max().item()) - z


def losses(x, r):
    l = (r.float() - x.float()).pow(2).mean()
    a = auxiliary(x, r)
    return l + a


def auxiliary(x, r):
    if r.sum() > 3:
        d = r + 2
        t = x * counts.sum().item()
        return t.sum() + d.mean()
    else:
        return x.sum()


@torch.compile(backend="aot_eager")
def given_again(x):
    r = x * 2 + 1
    return losses(x, r)


@torch.compile(backend="aot_eager")
def long_way(x):
    mask = x > 0
    if mask.sum() > 1:
        a = x.sin().cos().tanh().sigmoid().exp().log().abs().sqrt().neg().relu().add(1).mul(2).sub(3).div(4)
        b = x.sin().cos().tanh().sigmoid().exp().log().abs().sqrt().neg().relu().add(1).mul(2).sub(3).div(4)
        c = x.sin().cos().tanh().sigmoid().exp().log().abs().sqrt().neg().relu().add(1).mul(2).sub(3).div(4)
        d = x.sin().cos().tanh().sigmoid().exp().log().abs().sqrt().neg().relu().add(1).mul(2).sub(3).div(4)
        return (a + b + c + d) * mask
    else:
        return torch.where(mask, x, -x)


x = torch.tensor([0.5, -1.0, 2.0])
for _ in range(2):
    print(held(x))
    print(held_twice(x, True))
    print(given_again(x), given_again(-x))
    print(long_way(x), long_way(-x))
