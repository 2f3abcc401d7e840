"""Objects that are called with keywords, dictionaries whose length is asked for, and tensors that were one."""
import torch


class Scaled:
    def __init__(self, k):
        self.k = k

    def __call__(self, x, *, power=1):
        return (x * self.k) ** power


class Shifted(Scaled):
    pass


f, g = torch.compile(Scaled(2)), torch.compile(Shifted(3))
x = torch.ones(2)
for function in (f, g):
    print(function(x))
print(f(x, power=2), f(x, power=3))


@torch.compile
def counted(x, options):
    if options:
        x = x * options.get("k", 1)
    return x + len(options)


for options in ({"k": 2}, {}, {"k": 2, "z": 0}):
    print(counted(x, options))


@torch.compile
def both(x, y):
    if x is y:
        return x * 2
    return x + y


a = torch.ones(2, 2)
print(both(a, a), both(a, a.clone()), both(a[0], a[1]))
