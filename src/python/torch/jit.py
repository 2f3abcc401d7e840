"""`torch.jit`: TorchScript is not available. Functions that only ask or mark answer as outside of it."""


class ScriptModule:
    """Nothing is an instance of it."""


class ScriptFunction:
    """Nothing is an instance of it."""


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


def _absent(name):
    def function(*args, **kwargs):
        raise NotImplementedError(
            f"torch.jit.{name} is not available in the playground: there is no TorchScript. Use torch.compile."
        )

    return function


script, trace, trace_module, load, save, freeze, fork, wait = (
    _absent(name) for name in ("script", "trace", "trace_module", "load", "save", "freeze", "fork", "wait")
)
