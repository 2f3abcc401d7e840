"""Classes of tensors, objects and modes that have a say in calls: `__torch_function__`, with and without a compiler."""
import copy

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode, handle_torch_function, has_torch_function, resolve_name


class Logging(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print("  ", resolve_name(func), [t.__name__ for t in types], [type(a).__name__ for a in args])
        return super().__torch_function__(func, types, args, kwargs or {})


def show(name, call):
    print(name)
    try:
        result = call()
        parts = [type(e).__name__ for e in result] if isinstance(result, (tuple, list)) else ""
        print("   ->", type(result).__name__, parts)
    except Exception as e:
        print("   !!", type(e).__name__, e)


x = torch.arange(6.0).reshape(2, 3).as_subclass(Logging)
m = torch.tensor([1, 2, 3]).as_subclass(Logging)
y = torch.ones(2, 3)
parameter = torch.nn.Parameter(torch.ones(3))

for name, call in {
    "x + 1": lambda: x + 1,
    "1 + x": lambda: 1 + x,
    "y + x": lambda: y + x,
    "1 - x": lambda: 1 - x,
    "x / 2": lambda: x / 2,
    "1 / x": lambda: 1 / x,
    "x // 2": lambda: x // 2,
    "5 // x": lambda: 5 // x,
    "x % 2": lambda: x % 2,
    "2 ** x": lambda: 2**x,
    "x @ x.T": lambda: x @ x.T,
    "-x": lambda: -x,
    "abs": lambda: abs(x),
    "x < 1": lambda: x < 1,
    "x == 1": lambda: x == 1,
    "y > x": lambda: y > x,
    "m & 1": lambda: m & 1,
    "1 & m": lambda: 1 & m,
    "~m": lambda: ~m,
    "m << 1": lambda: m << 1,
    "1 << m": lambda: 1 << m,
    "x[0]": lambda: x[0],
    "y[x > 0]": lambda: y[x > 0],
    "len": lambda: len(x),
    "bool": lambda: bool(x.sum() > 0),
    "float": lambda: float(x.sum()),
    "int": lambda: int(m[0]),
    "index": lambda: [1, 2, 3][m[0]],
    "in": lambda: 1 in m,
    "add": lambda: torch.add(x, 1),
    "cat": lambda: torch.cat([y, x]),
    "sum": lambda: x.sum(dim=0),
    "max": lambda: x.max(1),
    "split": lambda: x.split(1),
    "relu": lambda: F.relu(x),
    "gelu": lambda: F.gelu(x),
    "softmax": lambda: F.softmax(x, dim=-1),
    "mse_loss": lambda: F.mse_loss(x, y),
    "linear": lambda: torch.nn.Linear(3, 2)(x),
    "einsum": lambda: torch.einsum("ij,kj->ik", x, y),
    "parameter": lambda: parameter * x,
    "shape": lambda: x.shape,
    "size": lambda: x.size(),
    "ndim": lambda: x.ndim,
    "requires_grad": lambda: x.requires_grad,
    "grad": lambda: x.grad,
    "T": lambda: x.T,
    "item": lambda: x[0, 0].item(),
    "tolist": lambda: x.tolist(),
    "detach": lambda: x.detach(),
    "to": lambda: x.to(torch.float64),
    "view": lambda: x.view(3, 2),
    "new_zeros": lambda: x.new_zeros(2),
    "out": lambda: torch.add(y, 1, out=x),
    "aten": lambda: torch.ops.aten.add.Tensor(x, 1),
    "allclose": lambda: torch.allclose(x, x),
    "backward": lambda: (x.clone().requires_grad_() * 2).sum().backward(),
    "repr": lambda: repr(x),
    "format": lambda: f"{x.sum():.2f}",
    "deepcopy": lambda: copy.deepcopy(x),
}.items():
    show(name, call)


class Refusing(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


refusing = torch.ones(2).as_subclass(Refusing)
show("add", lambda: torch.add(refusing, 1))
show("+", lambda: refusing + 1)
show("softmax", lambda: F.softmax(refusing, 0))


class Plain(torch.Tensor):
    pass


class Derived(Plain):
    pass


plain, derived = torch.ones(2).as_subclass(Plain), torch.ones(2).as_subclass(Derived)
print(type(plain + 1).__name__, type(plain[0]).__name__, plain, type(plain.detach()).__name__, plain.grad)
print(type(plain + derived).__name__, type(derived + plain).__name__, type(torch.stack([plain, derived])).__name__)


class Tagged(torch.Tensor):
    @staticmethod
    def __new__(cls, data, tag):
        return super().__new__(cls, data)

    def __init__(self, data, tag):
        self.tag = tag

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(result, cls) and not hasattr(result, "tag"):
            result.tag = next((a.tag for a in args if hasattr(a, "tag")), None)
        return result


tagged = Tagged([1.0, 2.0], "here")
print(tagged.tag, (tagged * 2).tag, (tagged * 2).exp().tag, tagged)


class Scaled:
    """Not a tensor at all."""

    def __init__(self, value):
        self.value = value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print("  ", resolve_name(func))
        return cls(func(*(a.value if isinstance(a, cls) else a for a in args), **(kwargs or {})))


scaled = Scaled(torch.ones(2))
for call in (
    lambda: torch.add(scaled, 1),
    lambda: torch.ones(2) + scaled,
    lambda: torch.ones(2).mul(scaled),
    lambda: F.softmax(scaled, 0),
):
    print(call().value)


def area(width, height):
    if has_torch_function((width, height)):
        return handle_torch_function(area, (width, height), width, height)
    return width * height


print(area(torch.ones(2), torch.ones(2)), type(area(plain, torch.ones(2))).__name__)


class Subtracting(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.add:
            func = torch.sub
        return func(*args, **(kwargs or {}))


class Counting(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


with Counting() as counting, Subtracting():
    print(torch.add(torch.ones(2), 1))
    torch.tensor([1.0]).exp()
print(counting.names)
with torch._C.DisableTorchFunctionSubclass():
    print(type(plain + 1).__name__)
print(type(plain + 1).__name__)


# Compiled


class Doubling(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in (torch.add, torch.Tensor.add):
            func = torch.mul
        return super().__torch_function__(func, types, args, kwargs or {})


def function(a, b):
    return (a + b).relu() * 2


doubling, weight = torch.tensor([1.0, -2.0, 3.0]).as_subclass(Doubling), torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
out = torch.compile(function, backend="aot_eager")(doubling, weight)
out.sum().backward()
print(type(out).__name__, out.tolist(), weight.grad)
compiled = torch.compile(lambda a: a.sin() + 1, backend="aot_eager")
print(type(compiled(plain)).__name__, compiled(plain), type(compiled(torch.ones(2))).__name__)


def add_one(a):
    return torch.add(a, 1)


def inside(a):
    with Subtracting():
        return torch.add(a, 1) + a


with Subtracting():
    print(torch.compile(add_one, backend="aot_eager")(torch.ones(2)))
print(torch.compile(inside, backend="aot_eager")(torch.ones(2)))

# In place, through another name

shifted = torch.tensor([1, 2])
other = shifted
shifted <<= 2
other >>= 1
print(shifted, other, 1 << shifted)
