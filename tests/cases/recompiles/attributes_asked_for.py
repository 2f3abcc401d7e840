# Attributes that a class's own __getattr__ and __setattr__ find and keep, and those that hasattr and getattr ask for: what is read that
# way is guarded on, numbers that vary become symbols, and an attribute that comes later is noticed.
import torch


class Config:
    def __init__(self, **values):
        self.__dict__["_values"] = dict(values)

    def __getattr__(self, name):
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(name)

    def __setattr__(self, name, value):
        self._values[name] = value


class Plain:
    pass


def show(title, function, config, *changes):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(function)
    print(title, compiled(torch.ones(2), config))
    for name, value in changes:
        setattr(config, name, value)
        print(title, compiled(torch.ones(2), config), torch._dynamo.utils.counters["stats"]["unique_graphs"])


def read(x, c):
    return x * c.scale


def or_default(x, c):
    return x * getattr(c, "scale", 7)


def count(x, c):
    c.calls = getattr(c, "calls", 0) + 1
    return x * 2


def if_there(x, c):
    if hasattr(c, "bias"):
        x = x + c.bias
    return x * 2


scales = [("scale", 3), ("scale", 4), ("scale", 5)]
show("read", read, Config(scale=2), *scales, ("other", 1))
show("default", or_default, Config(), *scales)
show("count", count, Config(), ("other", 1))
show("if there", if_there, Config(), ("bias", 5), ("bias", 5))
show("plain default", or_default, Plain(), *scales)
