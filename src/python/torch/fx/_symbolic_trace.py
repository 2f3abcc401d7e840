"""Traces a module or function with proxies: the program runs once, and what it calls becomes a graph."""

import builtins
import functools
import inspect
import sys
import types
import warnings
from collections import OrderedDict

import torch
from torch._native_trace import with_plain_parameters
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.node import map_aggregate
from torch.fx.proxy import ParameterProxy, Proxy, TracerBase
from torch.fx.traceback import preserved_annotation
from torch.nn import Module, Parameter

_wrapped = []


def wrap(fn_or_name):
    """Lets calls of a function be nodes instead of being traced through. Called at the top of a module, with a name or as a
    decorator."""
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped.append((frame.f_globals, name))
    return fn_or_name


def _has_proxy(values):
    found = []
    map_aggregate(values, lambda a: found.append(a) if isinstance(a, Proxy) else None)
    return found[0] if found else None


def _as_given(function, args, kwargs):
    """A call as it was written."""
    return args, kwargs


def _by_default(function, args, kwargs):
    """A call as torch's Python functions hand themselves on: what has a default by name, the rest by position."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    parameters = inspect.signature(function).parameters
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values()):
        return args, kwargs
    positional = tuple(bound.arguments[name] for name, p in parameters.items() if p.default is p.empty)
    return positional, {name: bound.arguments[name] for name, p in parameters.items() if p.default is not p.empty}


def _recording(function, form=_as_given, is_wrapped=False):
    """A function that becomes a node where it is given a proxy."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        proxy = _has_proxy((args, kwargs))
        if proxy is None:
            return function(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", function, *form(function, args, kwargs))
        if is_wrapped:
            made.node.meta["is_wrapped"] = True
        return made

    return wrapper


class PHBase:
    """Stands for an argument that stays an input where others have values."""

    def __repr__(self):
        return "PH"


PH = PHBase()


def _assert_is_none(value, msg):
    if value is not None:
        raise AssertionError(msg)


_is_fx_tracing_flag = False


def is_fx_symbolic_tracing():
    """Whether a function or module is being traced."""
    return _is_fx_tracing_flag


class _Patches:
    """Attributes and items that are something else while tracing."""

    def __init__(self):
        self._undo = []

    def attribute(self, owner, name, value):
        before = owner.__dict__[name]
        self._undo.append(lambda: setattr(owner, name, before))
        setattr(owner, name, value)

    def item(self, owner, name, value):
        absent = object()
        before = owner.get(name, absent)
        self._undo.append(lambda: owner.pop(name) if before is absent else owner.__setitem__(name, before))
        owner[name] = value

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for undo in reversed(self._undo):
            undo()


class Tracer(TracerBase):
    """Traces programs. Override `is_leaf_module` to say which modules are called instead of traced through."""

    def __init__(self, autowrap_modules=(), autowrap_functions=(), param_shapes_constant=False):
        self._autowrap = [(m.__dict__, name) for m in autowrap_modules for name in dir(m) if callable(getattr(m, name))]
        self._autowrap_functions = list(autowrap_functions)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths = None
        self.module_stack = OrderedDict()
        self.proxy_buffer_attributes = False
        self.root = None

    def is_leaf_module(self, m, module_qualified_name):
        """Whether calls of a module stay calls: so it is with torch.nn's, containers excepted."""
        return m.__module__.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, torch.nn.Sequential)

    def path_of_module(self, mod):
        """A module's path in the root."""
        for name, found in self.root.named_modules():
            if found is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m, forward, args, kwargs):
        """What a call of a module becomes."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            self.module_stack[path] = (path, type(m))
            try:
                return self.create_proxy("call_module", path, args, kwargs)
            finally:
                del self.module_stack[path]
        self.module_stack[path] = (path, type(m))
        try:
            return forward(*args, **kwargs)
        finally:
            self.module_stack.pop(path, None)

    def note(self, node):
        if self.module_stack:
            node.meta["nn_module_stack"] = self.module_stack.copy()
        if annotation := preserved_annotation():
            node.meta["custom"] = annotation

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """What reading an attribute of a module gives."""
        named = [(Parameter, self.root.named_parameters)]
        if self.proxy_buffer_attributes:
            named.append((torch.Tensor, self.root.named_buffers))
        for kind, listed in named:
            if isinstance(attr_val, kind):
                for name, found in listed():
                    if found is attr_val:
                        if name not in parameter_proxy_cache:
                            parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=self._factory(name, attr_val))
                        return parameter_proxy_cache[name]
        return attr_val

    def _factory(self, name, value):
        """What makes the proxy of an attribute: one that tells sizes, where the script asks for that."""
        if not self.param_shapes_constant or not isinstance(value, Parameter):
            return None
        return lambda node: ParameterProxy(self, node, name, value)

    def create_arg(self, a):
        if isinstance(a, Parameter):
            for name, found in self.root.named_parameters():
                if found is a:
                    return self.graph.create_node("get_attr", name)
            raise NameError("parameter is not a member of this module")
        if isinstance(a, torch.Tensor):
            for name, found in self.root.named_buffers():
                if found is a:
                    return self.graph.create_node("get_attr", name)
            name = next((name for name, value in self._constants.items() if value is a), None)
            if name is None:
                name = next(n for n in (f"_tensor_constant{i}" for i in range(1 << 30)) if not hasattr(self.root, n))
                self._constants[name] = a
                setattr(self.root, name, a)
            return self.graph.create_node("get_attr", name)
        if isinstance(a, Module):
            return self.graph.create_node("get_attr", self.path_of_module(a))
        return super().create_arg(a)

    def _arguments(self, function, is_module, concrete):
        """Proxies for the parameters of a function, the module first."""
        told = inspect.unwrap(function)
        code = told.__code__
        names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        defaults = {name: p.default for name, p in inspect.signature(told).parameters.items() if p.default is not p.empty}
        concrete = concrete or {}

        def proxy(name):
            if name in concrete:
                return self._specialized(name, concrete[name], (defaults[name],) if name in defaults else ())
            given = (defaults[name],) if name in defaults and not name.startswith("*") else ()
            return self.create_proxy("placeholder", name, given, {}, type_expr=self._types.get(name))

        self._types = {n: t for n, t in getattr(function, "__annotations__", {}).items() if n != "return" and not isinstance(t, str)}
        args = [self.root] if is_module else []
        args += [proxy(name) for name in names[1 if is_module else 0 :]]
        at = len(names)
        if code.co_flags & inspect.CO_VARARGS:
            args.append(proxy(f"*{code.co_varnames[at]}"))
            at += 1
        if code.co_flags & inspect.CO_VARKEYWORDS:
            args.append(proxy(f"**{code.co_varnames[at]}"))
        if len(args) > code.co_argcount and told is function:
            # One proxy stands for all that a parameter collects.
            plain = with_plain_parameters(code, len(args))
            function = types.FunctionType(plain, function.__globals__, function.__name__, None, function.__closure__)
        return function, args

    def _specialized(self, name, value, default):
        """A parameter whose value is known: the graph checks that it is given that."""
        if isinstance(value, (tuple, list, dict)):
            raise NotImplementedError(f"concrete_args[{name!r}]: trees of values are not available in the playground")
        given = self.create_proxy("placeholder", f"{name}_1", default, {})
        if isinstance(value, PHBase):
            return given
        if isinstance(value, (bool, int, float, str)):
            said = f"{name} has been specialized to have value {value} but got another value"
            self.create_proxy("call_function", torch._assert, (given == value, said), {})
        elif value is None:
            said = f"{name} has been specialized to have value None but got another value"
            self.create_proxy("call_function", _assert_is_none, (given, said), {})
        else:
            warnings.warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to the user to make sure "
                "that your inputs match the inputs you specialized the function with."
            )
        return value

    def trace(self, root, concrete_args=None):
        """The graph of a module or function."""
        is_module = isinstance(root, Module)
        if is_module:
            function = type(root).forward
            self.root = root
        else:
            function, self.root = root, Module()
        returned = getattr(function, "__annotations__", {}).get("return")
        self.graph = Graph(tracer_cls=type(self))
        self._constants = {name: v for name, v in self.root.__dict__.items() if isinstance(v, torch.Tensor)}
        function, args = self._arguments(function, is_module, concrete_args)
        cache = {}
        call, read = Module.__call__, Module.__getattr__

        def traced_call(module, *args, **kwargs):
            if _has_proxy((args, kwargs)) is None:
                return call(module, *args, **kwargs)
            return self.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        def traced_read(module, name):
            return self.getattr(name, read(module, name), cache)

        with _Patches() as patches:
            patches.attribute(Module, "__call__", traced_call)
            patches.attribute(Module, "__getattr__", traced_read)
            for module, names in ((torch.nn.functional, dir(torch.nn.functional)), (torch, list(vars(torch)))):
                for name in names:
                    found = None if name.startswith("_") else getattr(module, name, None)
                    if isinstance(found, types.FunctionType) and found.__module__ in ("torch", "torch.functional", "torch.nn.functional"):
                        patches.attribute(module, name, _recording(found, _by_default))
            for scope, name in [*_wrapped, *self._autowrap]:
                patches.item(scope, name, _recording(scope.get(name, getattr(builtins, name, None)), is_wrapped=True))
            for found in self._autowrap_functions:
                patches.item(found.__globals__, found.__name__, _recording(found, is_wrapped=True))
            patches.item(globals(), "_is_fx_tracing_flag", True)
            result = function(*args)
        self.graph.output(self.create_arg(result), None if isinstance(returned, str) else returned)
        return self.graph


def symbolic_trace(root, concrete_args=None):
    """A module whose code does what `root` does, as one graph."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
