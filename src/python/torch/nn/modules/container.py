"""Modules and parameters kept in sequences and dictionaries."""

__dynamo__ = "containers"

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping

import torch
from torch.nn.modules.module import Module, _addindent
from torch.nn.parameter import Parameter

__all__ = ["Container", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"]


def _position(index, size):
    """`index` counted from the start."""
    index = operator.index(index)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of range")
    return index % size


def _pairs(items, owner, element):
    """The key/value pairs of a mapping or of a sequence of pairs."""
    if not isinstance(items, Iterable):
        raise TypeError(
            f"{owner}.update should be called with an iterable of key/value pairs, but got " + type(items).__name__
        )
    if isinstance(items, (Mapping, ModuleDict, ParameterDict)):
        yield from items.items()
        return
    for place, pair in enumerate(items):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{element} update sequence element #{place} should be Iterable; is{type(pair).__name__}"
            )
        if len(pair) != 2:
            raise ValueError(
                f"{element} update sequence element #{place} has length {len(pair)}; 2 is required"
            )
        yield pair[0], pair[1]


class Container(Module):
    """Modules by keyword; of old."""

    def __init__(self, **kwargs):
        super().__init__()
        for key, value in kwargs.items():
            self.add_module(key, value)


class _Numbered(Module):
    """Modules whose names are their positions."""

    def _key(self, index):
        return list(self._modules)[_position(index, len(self))]

    def _renumber(self):
        modules = list(self._modules.values())
        self._modules = {str(place): module for place, module in enumerate(modules)}

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __dir__(self):
        return [key for key in super().__dir__() if not key.isdigit()]

    def __delitem__(self, index):
        keys = list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]
        for key in keys:
            delattr(self, key)
        self._renumber()

    def pop(self, key):
        """Takes the module at a position out."""
        module = self[key]
        del self[key]
        return module

    def append(self, module):
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self


class Sequential(_Numbered):
    """Calls its modules one after the other."""

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for key, module in args[0].items():
                self.add_module(key, module)
        else:
            for place, module in enumerate(args):
                self.add_module(str(place), module)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._key(index)]

    def __setitem__(self, index, module):
        setattr(self, self._key(index), module)

    @staticmethod
    def _check_sequential(other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")

    def __add__(self, other):
        self._check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other):
        self._check_sequential(other)
        for place, module in enumerate(list(other), start=len(self)):
            self.add_module(str(place), module)
        return self

    def _check_factor(self, other):
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def __mul__(self, other):
        self._check_factor(other)
        return Sequential(*(module for _ in range(other) for module in self))

    __rmul__ = __mul__

    def __imul__(self, other):
        self._check_factor(other)
        modules = list(self)
        for place in range(len(modules), other * len(modules)):
            self.add_module(str(place), modules[place % len(modules)])
        return self

    def forward(self, input):
        for module in self:
            input = module(input)
        return input

    def insert(self, index, module):
        """Puts a module before a position."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        count = len(self._modules)
        if not -count <= index <= count:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self._modules.values())
        modules.insert(index + count if index < 0 else index, module)
        self._modules = {str(place): one for place, one in enumerate(modules)}
        return self

    def extend(self, sequential):
        """Adds modules at the end."""
        for module in sequential:
            self.append(module)
        return self


class ModuleList(_Numbered):
    """A list of modules."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self += modules

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self.__class__(list(self._modules.values())[index])
        return self._modules[str(_position(index, len(self)))]

    def __setitem__(self, index, module):
        setattr(self, str(_position(index, len(self))), module)

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList([*self, *other])

    def __repr__(self):
        groups = []
        for place, module in enumerate(self):
            text = repr(module)
            if groups and groups[-1][2] == text:
                groups[-1][1] = place
            else:
                groups.append([place, place, text])
        if not groups:
            return self._get_name() + "()"
        lines = []
        for first, last, text in groups:
            if first == last:
                line = f"({first}): {text}"
            else:
                line = f"({first}-{last}): {last - first + 1} x {text}"
            lines.append(_addindent(line, 2))
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"

    def insert(self, index, module):
        """Puts a module before a position."""
        for place in range(len(self._modules), index, -1):
            self._modules[str(place)] = self._modules[str(place - 1)]
        self._modules[str(index)] = module

    def extend(self, modules):
        """Adds modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got " + type(modules).__name__
            )
        for place, module in enumerate(modules, start=len(self)):
            self.add_module(str(place), module)
        return self


class ModuleDict(Module):
    """A dictionary of modules."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Takes all out."""
        self._modules.clear()

    def pop(self, key):
        """Takes one out."""
        module = self[key]
        del self[key]
        return module

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """Names and modules."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Adds modules, in place of those of the same names."""
        for key, module in _pairs(modules, "ModuleDict", "ModuleDict"):
            self[key] = module


def _describe(key, value, element_type):
    """The line of an entry; `element_type` gives what is printed as a tensor's type."""
    if not isinstance(value, torch.Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    size = "x".join(str(extent) for extent in value.size())
    device = f" ({value.device})" if value.device.type == "cuda" else ""
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({key}): {kind} containing: [{element_type(value)} of size {size}{device}]"


class ParameterList(Module):
    """A list of parameters (and other values)."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __getitem__(self, index):
        if isinstance(index, slice):
            result = self.__class__()
            for place in range(*index.indices(len(self))):
                result.append(self[place])
            return result
        return getattr(self, str(_position(index, len(self))))

    def __setitem__(self, index, value):
        name = str(_position(index, len(self)))
        if isinstance(value, torch.Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, name, value)

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter(self[place] for place in range(len(self)))

    def __iadd__(self, values):
        return self.extend(values)

    def __dir__(self):
        return [key for key in super().__dir__() if not key.isdigit()]

    def append(self, value):
        """Adds a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Adds values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, torch.Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got " + type(values).__name__
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self):
        return "\n".join(_describe(place, value, lambda tensor: tensor.dtype) for place, value in enumerate(self))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters (and other values)."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    @staticmethod
    def _attribute(key):
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key):
        return getattr(self, self._attribute(key))

    def __setitem__(self, key, value):
        name = self._attribute(key)
        self._keys[key] = None
        if isinstance(value, torch.Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, name, value)

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._attribute(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def copy(self):
        """A dictionary of the same values."""
        return ParameterDict(OrderedDict((key, self[key]) for key in self._keys))

    def setdefault(self, key, default=None):
        """The value of a key, which is first set to `default` if it is new."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self):
        """Takes all out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Takes one out."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Takes the last one out."""
        key = list(self._keys)[-1]
        return key, self.pop(key)

    def get(self, key, default=None):
        """The value of a key, or `default`."""
        return self[key] if key in self else default

    def fromkeys(self, keys, default=None):
        """A dictionary of one value."""
        return ParameterDict((key, default) for key in keys)

    def keys(self):
        """The names."""
        return self._keys.keys()

    def items(self):
        """Names and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Adds values, in place of those of the same names."""
        pairs = _pairs(parameters, "ParametersDict", "ParameterDict")
        # A plain dictionary gives its values by the order of their names.
        is_plain = isinstance(parameters, Mapping) and not isinstance(parameters, (OrderedDict, ParameterDict))
        for key, value in sorted(pairs) if is_plain else pairs:
            self[key] = value

    def extra_repr(self):
        return "\n".join(_describe(key, value, torch.typename) for key, value in self.items())

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other):
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other):
        result = other.copy()
        result.update(self)
        return result

    def __ior__(self, other):
        self.update(other)
        return self
