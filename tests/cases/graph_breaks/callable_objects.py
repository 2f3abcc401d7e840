"""Objects with a `__call__` are called through one function, whose cache they share; so are PyTorch's own modules."""
import torch


class Scaled:
    def __init__(self, k, bias):
        self.k = k
        self.bias = bias

    def __call__(self, x, *, power=1):
        return (x * self.k + self.bias) ** power


class Shifted(Scaled):
    pass


bias = torch.tensor([0.5, -0.5], requires_grad=True)
f = torch.compile(Scaled(2, bias))
g = torch.compile(Scaled(3, bias))
h = torch.compile(Shifted(2, bias))
x = torch.ones(2)
for name, function in (("f", f), ("g", g), ("h", h), ("f", f)):
    print(name, function(x).tolist(), torch._dynamo.utils.counters["stats"]["unique_graphs"])
print(f(x, power=2).tolist(), f(x, power=3).tolist())
f(x).sum().backward()
print(bias.grad, torch._dynamo.utils.counters["stats"]["unique_graphs"])
