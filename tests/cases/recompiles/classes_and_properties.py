# What a class itself holds, and what properties read and write, is guarded on.
import torch


class Settings:
    factor = 1.0
    flags = {"a": 1}
    names = []


class Positive:
    def __init__(self):
        self._value = 1.0
        self.log = []

    @property
    def value(self):
        self.log.append("read")
        return self._value

    @value.setter
    def value(self, new):
        self.log.append("written")
        self._value = max(0.0, new)


@torch.compile
def of_class(x):
    Settings.names.append(len(Settings.flags))
    return x * Settings.factor + len(Settings.flags)


@torch.compile
def of_property(p, x):
    p.value = -5.0
    y = x + p.value
    p.value = 3.0
    return y * p.value


x = torch.tensor([4.0])
print(of_class(x), Settings.names)
print(of_class(x), Settings.names)
Settings.factor = 10.0
print(of_class(x), Settings.names)
Settings.flags["b"] = 2
print(of_class(x), Settings.names)
p = Positive()
print(of_property(p, x), p._value, p.log)
print(of_property(p, x), p._value, p.log)
