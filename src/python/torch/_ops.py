"""`torch.ops`: operators by namespace, packet and overload."""

from torch import _native


def _reader(name, overload, read):
    """An operator that reads a number off a tensor, which the catalogue has no entry for."""
    read.__module__, read.__name__ = "torch.ops.aten", f"{name}.{overload}"
    packet = type(name, (), {"__call__": staticmethod(read), overload: staticmethod(read), "__repr__": lambda _: f"aten.{name}"})
    return packet()


_READERS = {
    "sym_size": _reader("sym_size", "int", lambda tensor, dim: tensor.shape[dim]),
    "sym_stride": _reader("sym_stride", "int", lambda tensor, dim: tensor.stride(dim)),
    "sym_numel": _reader("sym_numel", "default", lambda tensor: tensor.numel()),
    "sym_storage_offset": _reader("sym_storage_offset", "default", lambda tensor: tensor.storage_offset()),
}


class _OpNamespace:
    def __init__(self, name):
        self.__dict__["_name"] = name

    def __getattr__(self, name):
        found = None if name.startswith("__") else _native._ops_packet(self._name, name)
        if found is None and self._name == "aten":
            found = _READERS.get(name)
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
