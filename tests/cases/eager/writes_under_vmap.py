"""vmap: a batched tensor is not written to one that is the same for all examples."""
import torch

x = torch.ones(3, 2)
index = torch.tensor([0])
writes = {
    "add": lambda a, b: a.add_(b),
    "add a number": lambda a, b: a.add_(b.sum()),
    "mul": lambda a, b: a.mul_(b),
    "copy": lambda a, b: a.copy_(b),
    "fill": lambda a, b: a.fill_(b.sum()),
    "index_put": lambda a, b: a.index_put_((index,), b[:1]),
    "an item": lambda a, b: a.__setitem__(0, b[0]),
    "masked_fill": lambda a, b: a.masked_fill_(b > 0, 1.0),
    "addcmul": lambda a, b: a.addcmul_(b, b),
    "pow": lambda a, b: a.pow_(b),
    "index_add": lambda a, b: a.index_add_(0, index, b[:1]),
    "scatter": lambda a, b: a.scatter_(0, index, b),
    "scatter_add": lambda a, b: a.scatter_add_(0, index, b),
    "clamp_min": lambda a, b: a.clamp_min_(b),
    "lerp": lambda a, b: a.lerp_(b, 0.5),
    "atan2": lambda a, b: a.atan2_(b),
}
for name, write in writes.items():
    try:
        print(name, torch.vmap(write, (None, 0))(torch.ones(2), x))
    except RuntimeError as e:
        print(name, e)
    print(name, torch.vmap(lambda a, b: (write(a, b), a)[1], (0, 0))(torch.ones(3, 2), x).tolist())


def made_inside(b):
    a = torch.zeros(2)
    a += b
    return a


try:
    torch.vmap(made_inside)(x)
except RuntimeError as e:
    print(e)
print(torch.vmap(lambda b: b.new_zeros(2).add_(1) + b)(x))
