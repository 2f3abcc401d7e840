# modes of the script's, redirect_to_mode, errors where no rule is registered
import torch
from torch._ops import HigherOrderOperator
from torch._C import DispatchKey, DispatchKeySet
from torch.utils._python_dispatch import TorchDispatchMode
from torch._higher_order_ops.utils import redirect_to_mode


class Op(HigherOrderOperator):
    def __init__(self):
        super().__init__("plain_op")

    def __call__(self, fn, x):
        return super().__call__(fn, x)


op = Op()
x = torch.randn(3)
try:
    op(torch.sin, x)
except NotImplementedError as e:
    print(e)


@op.py_impl(DispatchKey.CompositeExplicitAutograd)
def dense(fn, x):
    return fn(x)


try:
    op(torch.sin, x)
except NotImplementedError as e:
    print(e)


@op.py_autograd_impl
def autograd(fn, x):
    return dense(fn, x)


print(torch.equal(op(torch.sin, x), x.sin()))


class Log(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print("log", func)
        return func(*args, **(kwargs or {}))


class LogHop(Log):
    supports_higher_order_operators = True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print("loghop", func, types, isinstance(func, HigherOrderOperator))
        return func(*args, **(kwargs or {}))


class Own(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print("own dispatch", func)
        return func(*args, **(kwargs or {}))


with Log():
    try:
        op(torch.sin, x)
    except NotImplementedError as e:
        print(str(e).replace(str(id(x)), "").split(" object at")[0])
with LogHop():
    op(torch.sin, x)


@op.py_impl(Own)
def own(mode, fn, x):
    print("rule of Own", type(mode).__name__)
    with mode:
        return op(fn, x) if False else fn(x)


with Own():
    op(torch.sin, x)



class Redirected(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print("redirected", func, args[0].__name__)
        return func(*args, **(kwargs or {}))


redirect_to_mode(op, Redirected)
with Redirected():
    op(torch.sin, x)
try:
    Op.__call__(HigherOrderOperator("direct"), torch.sin, x)
except (RuntimeError, TypeError) as e:
    print(type(e).__name__, e)
try:
    op.py_impl(DispatchKey.CompositeExplicitAutograd)(dense)
except RuntimeError as e:
    print(e)
try:
    op.gen_schema(torch.sin, x)
except NotImplementedError as e:
    print(e)
try:
    op.py_impl(DispatchKey.Python)(dense)
except AssertionError as e:
    print(e)


class Sub(torch.Tensor):
    @staticmethod
    def __new__(cls, elem):
        return torch.Tensor._make_wrapper_subclass(cls, elem.shape, dtype=elem.dtype)

    def __init__(self, elem):
        self.elem = elem

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        print("sub", func)
        return func(args[0].elem)


try:
    op(torch.sin, Sub(x))
except NotImplementedError as e:
    print(e)


@op.py_impl(Sub)
def of_sub(fn, x):
    print("rule of Sub")
    return Sub(op(fn, x.elem))


print(type(op(torch.sin, Sub(x))).__name__)
print(DispatchKey.Autograd, DispatchKey.CPU, repr(DispatchKey.CompositeExplicitAutograd), DispatchKey.Autograd == DispatchKey.Autograd)
keys = DispatchKeySet(DispatchKey.CPU)
print(keys.has(DispatchKey.CPU), keys.has(DispatchKey.CUDA), (keys | DispatchKeySet(DispatchKey.CUDA)).has(DispatchKey.CUDA))
print(torch._C._dispatch_keys(x).has(DispatchKey.CPU), torch._C._dispatch_keys(x))
