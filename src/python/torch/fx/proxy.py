"""A value that is not there yet: what is done with it becomes nodes of a graph."""

import operator

import torch
from torch.fx.node import Node, map_aggregate


class TraceError(ValueError):
    """What cannot be traced with values that are not there."""


class TracerBase:
    """Makes nodes of a graph for calls on proxies."""

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """A node for a call, and the proxy of its value."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.note(node)
        return (proxy_factory_fn or self.proxy)(node)

    create_node = lambda self, *args, **kwargs: self.graph.create_node(*args, **kwargs)

    def note(self, node):
        """Writes down what is known about a new node."""

    def proxy(self, node):
        return Proxy(node, self)

    def create_arg(self, a):
        """An argument as nodes hold it."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, (tuple, list, dict, slice)):
            return map_aggregate(a, self.create_arg) if not isinstance(a, torch.Size) else tuple(map(self.create_arg, a))
        if isinstance(a, range):
            return range(*map(self.create_arg, (a.start, a.stop, a.step)))
        constants = (int, float, complex, bool, str, type(None), type(...), torch.dtype, torch.device, torch.layout, torch.memory_format)
        if isinstance(a, (*constants, torch.Tensor, Node)) or callable(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj):
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj):
        count = torch._native_compile._unpacked_count(2)
        if count is not None:
            return (obj[i] for i in range(count))
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs function argument. "
            "See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control flow can be traced, "
            "and check out the Proxy docstring for help troubleshooting Proxy iteration errors"
        )

    def keys(self, obj):
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Appends to a graph that is there."""

    def __init__(self, graph):
        self.graph = graph


class Proxy:
    """Stands for a node's value while a program is traced."""

    def __init__(self, node, tracer=None):
        self.tracer = tracer if tracer is not None else GraphAppendingTracer(node.graph)
        self.node = node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        return iter(self.tracer.iter(self))

    def __bool__(self):
        return self.tracer.to_bool(self)

    def __abs__(self):
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __len__(self):
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want "
            "this call to be recorded, please call torch.fx.wrap('len') at module scope"
        )

    def keys(self):
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(cls, orig_method, types, args=None, kwargs=None):
        args, kwargs = args or (), kwargs or {}
        found = []
        map_aggregate((args, kwargs), lambda a: found.append(a.tracer) if isinstance(a, Proxy) else None)
        tracer = found[0]
        name = orig_method.__name__
        if orig_method is getattr(torch.Tensor, name, None):
            return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy("call_function", orig_method, args, kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter, whose sizes are known."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        if not isinstance(param, torch.nn.Parameter):
            raise AssertionError(f"Expected Parameter, got {type(param)}")
        self.param = param
        self.name = name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    shape = property(lambda self: self.param.shape)
    ndim = property(lambda self: self.param.ndim)

    def size(self):
        """The parameter's sizes."""
        return self.param.size()

    def dim(self):
        """How many there are."""
        return self.param.dim()

    def numel(self):
        """How many elements it has."""
        return self.param.numel()

    nelement = numel


class MetaProxy(Proxy):
    """Stands for a value of which a fake one is known: the nodes made of it know theirs in `meta["val"]`."""

    def __init__(self, node, tracer=None, fake_mode=None):
        super().__init__(node, tracer)
        self.fake_mode = fake_mode

    def __repr__(self):
        return f"MetaProxy({self.node.name})"

    @classmethod
    def __torch_function__(cls, orig_method, types, args=None, kwargs=None):
        args, kwargs = args or (), kwargs or {}
        given = next((arg for arg in args if isinstance(arg, MetaProxy)), None)
        if given is None:
            raise AssertionError("No MetaProxy found in arguments, but one is expected.")
        proxy = super().__torch_function__(orig_method, types, args, kwargs)
        with given.fake_mode:
            proxy.node.meta["val"] = orig_method(*[arg.node.meta["val"] if isinstance(arg, Proxy) else arg for arg in args], **kwargs)
        return MetaProxy(proxy.node, proxy.tracer, given.fake_mode)


class Scope:
    """The module that nodes are made in: its path and class."""

    def __init__(self, module_path, module_type):
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """Makes a scope another one for a block."""

    def __init__(self, scope, current_scope):
        self._scope, self._before = scope, (scope.module_path, scope.module_type)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self):
        return self._scope

    def __exit__(self, *args):
        self._scope.module_path, self._scope.module_type = self._before


class Attribute(Proxy):
    """An attribute of a proxy: a call of it is a call of a method, any other use reads it."""

    def __init__(self, root, attr):
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node = None
        # Whoever asks what a callable is called must not make a node by that.
        self.__qualname__ = attr

    @property
    def node(self):
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _operator_method(function):
    def method(self, *args, **kwargs):
        return self.tracer.create_proxy("call_function", function, (self, *args), kwargs)

    return method


def _reflected_method(function):
    def method(self, other):
        return self.tracer.create_proxy("call_function", function, (other, self), {})

    return method


_REFLECTED = ("add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor", "matmul")
for _name in ("eq", "ne", "lt", "gt", "le", "ge", "pos", "neg", "invert", "getitem", *_REFLECTED):
    setattr(Proxy, f"__{_name.rstrip('_')}__", _operator_method(getattr(operator, _name)))
for _name in _REFLECTED:
    setattr(Proxy, f"__r{_name.rstrip('_')}__", _reflected_method(getattr(operator, _name)))
Proxy.__hash__ = object.__hash__
