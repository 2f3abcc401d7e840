"""`torch.ops`: operators by namespace, packet and overload."""

from torch import _native


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


class HigherOrderOperator:
    """An operator that takes functions, as graphs name it."""

    namespace = "higher_order"
    __module__ = "torch.ops.higher_order"

    def __init__(self, name):
        self.__name__ = self._name = name

    def name(self):
        """Its name below `torch.ops.higher_order`."""
        return self._name

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
    return _HIGHER_ORDER.setdefault(name, HigherOrderOperator(name))


class _OpNamespace:
    def __init__(self, name):
        self.__dict__["_name"] = name

    def __getattr__(self, name):
        found = None if name.startswith("__") else _native._ops_packet(self._name, name)
        if found is None and self._name == "aten":
            found = _READERS.get(name)
        if found is None and self._name == "higher_order" and name == "wrap_with_set_grad_enabled":
            from torch.export._grad_mode import wrap_with_set_grad_enabled as found
        if found is None and self._name == "higher_order":
            from torch import _native_aot

            found = higher_order(name) if name in _native_aot._higher_order_names() else None
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
