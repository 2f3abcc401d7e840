"""`torch.ops`: operators by namespace, packet and overload."""

from torch import _native


class _OpNamespace:
    def __init__(self, name):
        self.__dict__["_name"] = name

    def __getattr__(self, name):
        found = None if name.startswith("__") else _native._ops_packet(self._name, name)
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
