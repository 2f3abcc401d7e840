"""`torch.ops`: operators by namespace, packet and overload."""

import abc
import functools

from torch import _native, _native_compile


class _Reader:
    """An operator that reads a number off a tensor, which the catalogue has no entry for."""

    __module__ = "torch.ops.aten"

    def __init__(self, name, read):
        self.__name__, self._read = name, read

    def __call__(self, *args):
        return self._read(*args)

    def __repr__(self):
        return f"<OpOverload(op='aten.{self.__name__.split('.')[0]}', overload='{self.__name__.split('.')[1]}')>"

    def __str__(self):
        return f"aten.{self.__name__}"


def _reader(name, overload, read):
    """The packet of such an operator."""
    of_overload = _Reader(f"{name}.{overload}", read)
    packet = type(name, (), {"__call__": staticmethod(read), overload: of_overload, "__repr__": lambda _: f"aten.{name}"})
    return packet()


_READERS = {
    "sym_size": _reader("sym_size", "int", lambda tensor, dim: tensor.shape[dim]),
    "sym_stride": _reader("sym_stride", "int", lambda tensor, dim: tensor.stride(dim)),
    "sym_numel": _reader("sym_numel", "default", lambda tensor: tensor.numel()),
    "sym_storage_offset": _reader("sym_storage_offset", "default", lambda tensor: tensor.storage_offset()),
}


def _assert_scalar(condition, message):
    if not condition:
        raise RuntimeError(message)


_READERS["_assert_scalar"] = _reader("_assert_scalar", "default", _assert_scalar)


class OperatorBase:
    """An operator whose calls functions answer that are registered with it: by key, by mode or class of tensors, by transform."""

    def __init__(self):
        self.py_kernels, self.python_key_table, self.functorch_table = {}, {}, {}

    def __call__(self, *args, **kwargs):
        raise NotImplementedError

    def has_kernel_for_dispatch_key(self, k):
        return k in self.py_kernels

    def has_kernel_for_any_dispatch_key(self, ks):
        return any(ks.has(k) for k in self.py_kernels)

    def py_impl(self, k):
        """A decorator: the function answers calls that come to `k`."""
        from torch._higher_order_ops._dispatch import registered

        return lambda fn: registered(self, k, fn)

    def py_functionalize_impl(self, fn):
        """The function, given what wraps and unwraps functional tensors first, answers calls that are functionalized."""
        from torch._higher_order_ops._dispatch import registered_for_functionalization

        return registered_for_functionalization(self, fn)

    def name(self):
        raise NotImplementedError


def _seen_by_dynamo(call):
    """A call of an operator, which Dynamo sees before the script's code for it is entered."""

    @functools.wraps(call)
    def seen(self, /, *args, **kwargs):
        if _native_compile._is_capturing() and not self._captures:
            _native_compile._graph_break("higher_order_operator", self._name)
        return call(self, *args, **kwargs)

    return seen


class HigherOrderOperator(OperatorBase, abc.ABC):
    """An operator that takes functions. A script's own is an instance of a subclass, and says by `py_impl` what its calls come to."""

    namespace = property(lambda self: self._ns)

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "__call__" in cls.__dict__ and cls.__module__ != __name__:
            cls.__call__ = _seen_by_dynamo(cls.__call__)

    # Whether Dynamo knows it.
    _captures = False

    def __init__(self, name, *, cacheable=False, supports_training_input_mutation=False):
        super().__init__()
        if type(self) is HigherOrderOperator:
            raise RuntimeError("Direct instantiation of HigherOrderOperator is not allowed. Please subclass it.")
        self._name = self.__name__ = name
        self._ns = "higher_order"
        self.__module__ = "torch.ops.higher_order"
        self._cacheable, self._supports_training_input_mutation = cacheable, supports_training_input_mutation
        _HIGHER_ORDER[name] = self
        ops.__dict__.get("higher_order", _Ops()).__dict__.pop(name, None)

    def name(self):
        """Its name below `torch.ops.higher_order`."""
        return self._name

    def cacheable(self):
        return self._cacheable

    def py_autograd_impl(self, fn):
        """The function answers calls that are differentiated."""
        from torch._higher_order_ops._dispatch import registered_for_autograd

        return registered_for_autograd(self, fn)

    @abc.abstractmethod
    def __call__(self, /, *args, **kwargs):
        from torch._higher_order_ops._dispatch import call

        return call(self, args, kwargs)

    def gen_schema(self, *args, **kwargs):
        raise NotImplementedError(
            f"HigherOrderOperator {self._name} does not implement a gen_schema. "
            f"This is OK as long as the hop is functional. "
            f"e.g. it should not mutate its inputs and there are no input, output aliasing "
            f"via views or direct referencing."
        )

    def __str__(self):
        return self._name

    def __deepcopy__(self, memo=None):
        return self


class _BuiltIn(HigherOrderOperator):
    """One of PyTorch's, which the compiler knows."""

    __module__ = "torch.ops.higher_order"

    def __repr__(self):
        return self._name

    def __call__(self, *args, **kwargs):
        from torch._higher_order_ops._calls import CALLS

        if self._name not in CALLS:
            raise NotImplementedError(f"calling torch.ops.higher_order.{self._name} from Python is not available in the playground")
        return CALLS[self._name](*args, **kwargs)


_HIGHER_ORDER = {}


def higher_order(name):
    """The one operator of a name."""
    return _HIGHER_ORDER.get(name) or _BuiltIn(name)


def script_operator(name):
    """The operator of a name that a script defined."""
    found = _HIGHER_ORDER.get(name)
    return None if isinstance(found, _BuiltIn) else found


class _OpNamespace:
    def __init__(self, name):
        self.__dict__["_name"] = name

    def __getattr__(self, name):
        found = _native._ops_packet(self._name, name)
        if found is None and self._name == "aten":
            found = _READERS.get(name)
        if found is None and self._name == "higher_order" and name == "wrap_with_set_grad_enabled":
            from torch.export._grad_mode import wrap_with_set_grad_enabled as found
        if found is None and self._name == "higher_order":
            from torch import _native_aot

            is_known = name in _HIGHER_ORDER or name in _native_aot._higher_order_names()
            found = higher_order(name) if is_known else None
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")
        self.__dict__[name] = found
        return found


class _Ops:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = self.__dict__[name] = _OpNamespace(name)
        return namespace


    def _forget(self, namespace, name):
        """An operator is defined: what was found by its name is not it."""
        if namespace in self.__dict__:
            self.__dict__[namespace].__dict__.pop(name, None)


ops = _Ops()
OpOverload = _native.OpOverload
OpOverloadPacket = _native.OpOverloadPacket
