"""Trees without their leaves as JSON, in PyTorch's form (protocol 1): how exported programs are kept in files."""

import builtins
import enum
import json
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass

import torch
from torch._results import class_of
from torch.utils._pytree import LeafSpec, TreeSpec, register_results

_PROTOCOL = 1


@dataclass
class SerializeNodeDef:
    """The name of a container in files, and what its context becomes there."""

    typ: object
    serialized_type_name: str | None = None
    to_dumpable_context: object = None
    from_dumpable_context: object = None


class _EnumEncoder(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, enum.Enum):
            return {"__enum__": True, "fqn": f"{type(o).__module__}:{type(o).__qualname__}", "name": o.name}
        return super().default(o)


def _member(read):
    """The member of an enumeration that the script has."""
    if "__enum__" not in read:
        return read
    module, _, path = read["fqn"].partition(":")
    found = sys.modules.get(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    if not (isinstance(found, type) and issubclass(found, enum.Enum)):
        raise NotImplementedError(f"the enumeration {read['fqn']} of a tree is not known to this run")
    return found[read["name"]]


def _namedtuple_name(cls):
    known = SUPPORTED_SERIALIZED_TYPES.get(cls)
    if known is None or known.serialized_type_name is None:
        why = "didn't register a serialized_type_name" if known is None else "couldn't find a serialized_type_name"
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {cls} because we {why}. Please register using `_register_namedtuple`."
        )
    return known.serialized_type_name


def _namedtuple_class(name):
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Can't deserialize TreeSpec of namedtuple class {name} because we couldn't find a serialized name.")
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[name]


def _factory(context):
    factory, keys = context
    return {"default_factory_module": factory.__module__, "default_factory_name": factory.__qualname__, "dict_context": keys}


def _of_factory(context):
    factory = getattr(builtins, context["default_factory_name"], None) if context["default_factory_module"] == "builtins" else None
    # A file names it: nothing but what makes a value is looked up.
    if factory not in (bool, bytes, complex, dict, float, frozenset, int, list, set, str, tuple):
        name = f"{context['default_factory_module']}.{context['default_factory_name']}"
        raise NotImplementedError(f"a tree with a defaultdict of {name} is not read from files in the playground")
    return [factory, context["dict_context"]]


SUPPORTED_SERIALIZED_TYPES = {
    tuple: SerializeNodeDef(tuple, "builtins.tuple"),
    list: SerializeNodeDef(list, "builtins.list"),
    dict: SerializeNodeDef(dict, "builtins.dict"),
    namedtuple: SerializeNodeDef(namedtuple, "collections.namedtuple", _namedtuple_name, _namedtuple_class),
    OrderedDict: SerializeNodeDef(OrderedDict, "collections.OrderedDict"),
    defaultdict: SerializeNodeDef(defaultdict, "collections.defaultdict", _factory, _of_factory),
    deque: SerializeNodeDef(deque, "collections.deque"),
    torch.Size: SerializeNodeDef(torch.Size, "torch.Size"),
}
SERIALIZED_TYPE_TO_PYTHON_TYPE = {known.serialized_type_name: cls for cls, known in SUPPORTED_SERIALIZED_TYPES.items()}


def register(cls, name, to_dumpable_context, from_dumpable_context):
    """Says how a script's container is kept in files; without a name it is not."""
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_SERIALIZED_TYPES[cls] = SerializeNodeDef(cls, name, to_dumpable_context, from_dumpable_context)
    if name is not None:
        SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


def _register_namedtuple(cls, *, serialized_type_name):
    """Lets named tuples of a class be kept in files."""
    register(cls, serialized_type_name, _namedtuple_name, _namedtuple_class)


def _written(spec):
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    children = [_written(child) for child in spec.children()]
    if spec.type.__module__ == "torch.return_types":
        return {"type": f"torch.return_types.{spec.type.__name__}", "context": "null", "children_spec": children}
    known = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if known is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    if known.serialized_type_name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call with a "
            "`serialized_type_name` kwarg."
        )
    if known.to_dumpable_context is not None:
        context = known.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context, cls=_EnumEncoder)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a custom serializer using _register_pytree_node."
            ) from error
    return {"type": known.serialized_type_name, "context": context, "children_spec": children}


def _read(told):
    if told["type"] is None and told["context"] is None and not told["children_spec"]:
        return LeafSpec()
    name = told["type"]
    results = class_of(name.removeprefix("torch.return_types.")) if str(name).startswith("torch.return_types.") else None
    if results is not None:
        register_results(results)
        return TreeSpec(results, None, [_read(child) for child in told["children_spec"]])
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Deserializing {name} in pytree failed because the serialized type is not registered in this process. If this type is defined in "
            "another package, import that package before loading this artifact so its pytree registrations run. If you control the type, "
            "register it with `torch.utils._pytree.register_pytree_node(..., serialized_type_name=...)` or "
            "`torch.export.register_dataclass(..., serialized_type_name=...)` before deserializing. The `serialized_type_name` must match "
            f"{name!r}."
        )
    cls = SERIALIZED_TYPE_TO_PYTHON_TYPE[name]
    known = SUPPORTED_SERIALIZED_TYPES[cls]
    if known.from_dumpable_context is not None:
        context = known.from_dumpable_context(told["context"])
    else:
        context = json.loads(told["context"], object_hook=_member)
    return TreeSpec(cls, context, [_read(child) for child in told["children_spec"]])


def _check(protocol):
    if protocol != _PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")


def treespec_dumps(treespec, protocol=None):
    """The containers of a tree as JSON."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of TreeSpec but got item of type {type(treespec)}.")
    _check(_PROTOCOL if protocol is None else protocol)
    return json.dumps([_PROTOCOL, _written(treespec)], cls=_EnumEncoder)


def treespec_loads(serialized):
    """The containers of a tree from their JSON."""
    protocol, told = json.loads(serialized)
    _check(protocol)
    return _read(told)


__all__ = ["register", "treespec_dumps", "treespec_loads"]
