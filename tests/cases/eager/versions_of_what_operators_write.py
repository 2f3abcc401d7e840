# _version of tensors that a script's own operators write to: what kernels write counts, and what a custom_op says it writes.
import torch
from torch import Tensor


def define(name, fn, written):
    return torch.library.custom_op("versions::" + name, fn, mutates_args=written)


def nothing(x: Tensor) -> None:
    pass


def once(x: Tensor) -> None:
    x.add_(1)


def twice(x: Tensor) -> None:
    x.add_(1)
    x.mul_(2)


def data(x: Tensor) -> None:
    x.data.add_(1)


def view(x: Tensor) -> None:
    x[0].add_(1)


def without_gradients(x: Tensor) -> None:
    with torch.no_grad():
        x.add_(1)


def unsaid(x: Tensor) -> Tensor:
    x.add_(1)
    return x * 2


def own(x: Tensor) -> Tensor:
    y = torch.zeros(2)
    y.add_(x)
    return torch.tensor(y._version)


operators = [define(f.__name__, f, ("x",)) for f in (nothing, once, twice, data, view, without_gradients)]
operators.append(define("unsaid", unsaid, ()))
print(define("own", own, ())(torch.ones(2)))
for f in operators:
    x = torch.zeros(2)
    f(x)
    base = torch.zeros(2)
    f(base.view(2))
    leaf = torch.zeros(2, requires_grad=True)
    with torch.no_grad():
        f(leaf)
    computed = torch.zeros(2, requires_grad=True).clone()
    f(computed)
    print(f._name, x._version, base._version, leaf._version, computed._version)

library = torch.library.Library("versions_of", "FRAGMENT")
kernels = {"nothing": lambda x: None, "once": once, "unsaid": once}
for name, kernel in kernels.items():
    library.define(name + ("(Tensor x) -> ()" if name == "unsaid" else "(Tensor(a!) x) -> ()"))
    library.impl(name, kernel, "CPU")
    x = torch.zeros(2)
    getattr(torch.ops.versions_of, name)(x)
    print(name, x._version)

saved = torch.ones(2, requires_grad=True).clone()
y = (saved * saved).sum()
operators[1](saved)
try:
    y.backward()
except RuntimeError as error:
    print(str(error)[:120])
