"""`torch._dynamo`: what a script can reach of it."""

from torch import _native_compile
from torch._dynamo.decorators import mark_dynamic, mark_static, maybe_mark_dynamic
from torch._dynamo.eval_frame import OptimizedModule, compile, disable, error_on_graph_break, optimize, reset, set_stance
from torch._dynamo.explaining import explain

__all__ = ["OptimizedModule", "compile", "disable", "error_on_graph_break", "explain", "graph_break", "is_compiling", "mark_dynamic", "mark_static", "maybe_mark_dynamic", "optimize", "reset"]


def graph_break(msg=""):
    """Breaks the graph here."""
    _native_compile._graph_break("requested", msg or None)


def is_compiling():
    """Whether a compiled function is being captured; what is called outside of its graphs is not."""
    return _native_compile._is_capturing() and _native_compile._is_compiled()


def allow_in_graph(fn):
    return fn


nonstrict_trace = allow_in_graph


def dont_skip_tracing(fn=None):
    """The function itself: what a script wrote is never skipped."""
    return dont_skip_tracing if fn is None else fn


def is_dynamo_supported():
    """True."""
    return True


is_inductor_supported = is_dynamo_supported


def list_backends(exclude_tags=("debug", "experimental")):
    """The names that `torch.compile(backend=...)` takes."""
    from torch._dynamo.backends.registry import list_backends

    return list_backends(exclude_tags)


def __getattr__(name):
    if name in ("config", "utils", "backends", "exc", "decorators", "compiled_autograd", "testing"):
        return __import__(f"torch._dynamo.{name}", fromlist=["_"])
    if name in ("register_backend", "lookup_backend"):
        return getattr(__import__("torch._dynamo.backends.registry", fromlist=[name]), name)
    if name == "assume_constant_result":
        return __import__("torch.compiler", fromlist=[name]).assume_constant_result
    if name == "export":
        return __import__("torch._dynamo.exporting", fromlist=[name]).export
    raise AttributeError(f"module 'torch._dynamo' has no attribute '{name}'")
