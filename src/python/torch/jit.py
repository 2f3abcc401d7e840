"""`torch.jit`: what a script compiles runs as the Python that it is, which TorchScript is a part of. There are no graphs of it, no
files and no traces; functions that only ask or mark answer as outside of it."""

import functools

from torch.nn.modules.module import Module


def _absent(name):
    def function(*args, **kwargs):
        raise NotImplementedError(
            f"torch.jit.{name} is not available in the playground: there is no TorchScript. Use torch.compile."
        )

    return function


class ScriptFunction:
    """A function that was scripted."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        del self.__wrapped__
        self._function = function
        self.name = function.__name__
        self.__name__ = "ScriptFunction"

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)

    def __getattr__(self, name):
        if name in ("graph", "inlined_graph", "code", "schema", "graph_for", "save", "get_debug_state"):
            _absent(f"ScriptFunction.{name}")()
        raise AttributeError(f"'ScriptFunction' object has no attribute '{name}'")


class ScriptModule(Module):
    """A module whose methods are scripted."""


class RecursiveScriptModule(ScriptModule):
    """A module that was scripted: attributes of its own, beside the parameters and buffers of the module that it was made of."""

    def _get_name(self):
        return f"RecursiveScriptModule(original_name={self.original_name})"

    def __repr__(self):
        if not self._modules:
            return self._get_name()
        inner = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        return "RecursiveScriptModule(\n  " + "\n  ".join([f"original_name={self.original_name}", *inner]) + "\n)"


for _name in ("graph", "inlined_graph", "code", "code_with_constants"):
    setattr(RecursiveScriptModule, _name, property(_absent(f"RecursiveScriptModule.{_name}")))
RecursiveScriptModule.save = _absent("RecursiveScriptModule.save")


def _scripted_module(module):
    scripted_class = type("RecursiveScriptModule", (RecursiveScriptModule, type(module)), {"__module__": "torch.jit._script"})
    scripted = object.__new__(scripted_class)
    scripted.__dict__.update(module.__dict__)
    for name in ("_parameters", "_buffers"):
        scripted.__dict__[name] = dict(module.__dict__[name])
    inner = module.__dict__["_modules"].items()
    scripted.__dict__["_modules"] = {name: part if part is None else script(part) for name, part in inner}
    scripted.__dict__["original_name"] = type(module).__name__
    return scripted


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """The function or the module, scripted; a class or what is scripted as it is."""
    import builtins

    if optimize is not None or example_inputs is not None:
        raise NotImplementedError("torch.jit.script: optimize and example_inputs are not supported in the playground")
    if builtins.isinstance(obj, (ScriptFunction, ScriptModule, type)):
        return obj
    if builtins.isinstance(obj, Module):
        return _scripted_module(obj)
    if not callable(obj):
        _absent(f"script of a {type(obj).__name__}")()
    return ScriptFunction(obj)


def script_method(function):
    """The method itself."""
    return function


def script_if_tracing(function):
    """The function itself: nothing is traced."""
    return function


def is_scripting():
    """False."""
    return False


def is_tracing():
    """False."""
    return False


def ignore(drop=False, **kwargs):
    """The function itself."""
    return drop if callable(drop) else lambda function: function


def unused(function):
    """The function itself."""
    return function


export = interface = unused


def annotate(the_type, the_value):
    """The value itself."""
    return the_value


def isinstance(obj, target_type):
    """`isinstance`."""
    import builtins

    return builtins.isinstance(obj, target_type)


trace, trace_module, load, save, freeze, fork, wait = (
    _absent(name) for name in ("trace", "trace_module", "load", "save", "freeze", "fork", "wait")
)
