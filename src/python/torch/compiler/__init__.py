"""`torch.compiler`: the public switches of `torch.compile`."""

import functools

from torch import _native_compile
from torch._arguments import unobeyed
from torch._dynamo import allow_in_graph, disable, is_compiling, list_backends, reset, set_stance

is_dynamo_compiling = is_compiling


def is_exporting():
    return False


def assume_constant_result(fn):
    """A function that is called while a graph is captured, and whose result is a constant of that graph."""

    @functools.wraps(fn)
    def constant(*args, **kwargs):
        if not _native_compile._is_capturing():
            return fn(*args, **kwargs)
        with _native_compile._suspended():
            call = f"{id(fn)} {args} {kwargs}"
            known = _native_compile._constant_result(call)
            if known is None:
                # Nothing that it reads is guarded on.
                known = (_native_compile._outside_of_calls(lambda: fn(*args, **kwargs)),)
                _native_compile._keep_constant_result(call, known[0])
        return known[0]

    return constant


def nested_compile_region(fn=None, *, options=None, max_reuse_entries=8, reuse_hash_fn=None):
    """Marks a function that a model calls often, so that it is compiled once: its calls in a graph share a subgraph, which
    `invoke_subgraph` calls."""
    if options is not None:
        raise RuntimeError("nested_compile_region config is an experimental feature for testing only.")
    unobeyed("nested_compile_region", max_reuse_entries=(max_reuse_entries, 8), reuse_hash_fn=(reuse_hash_fn, None))
    if fn is None:
        return nested_compile_region

    @functools.wraps(fn)
    def region(*args, **kwargs):
        if not _native_compile._is_capturing() or _inlines_regions():
            return fn(*args, **kwargs)
        return _native_compile._region(fn, args, kwargs)

    return region


def _inlines_regions():
    from torch._dynamo import config

    return config.inline_invoke_subgraph


def cudagraph_mark_step_begin():
    """There are no CUDA graphs here; what is captured ends all the same."""
    _native_compile._leave("skipped", "cudagraph_mark_step_begin", "torch.compiler", "torch/compiler/__init__")


def compile(*args, **kwargs):
    import torch

    return torch.compile(*args, **kwargs)


def keep_portable_guards_unsafe(guard_entries):
    """Keeps guards of tensors that are no globals, of sizes and of global state."""
    of_state = ("GLOBAL_STATE", "SHAPE_ENV")
    return [e.guard_type in of_state or e.guard_type == "TENSOR_MATCH" and not e.is_global for e in guard_entries]


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries):
    """Drops guards on what PyTorch's modules have."""
    return [not entry.orig_guard.source.is_unspecialized_builtin_nn_module() for entry in guard_entries]


def skip_guard_on_all_nn_modules_unsafe(guard_entries):
    """Drops guards on what modules have."""
    return [not entry.orig_guard.source.is_unspecialized_nn_module() for entry in guard_entries]


def keep_tensor_guards_unsafe(guard_entries, keep_parameters=False):
    """Keeps guards of tensors, those of parameters where that is asked for."""
    import torch

    is_kept = lambda value: keep_parameters or not isinstance(value, torch.nn.Parameter)
    return [entry.guard_type == "TENSOR_MATCH" and is_kept(entry.value) for entry in guard_entries]


def skip_guard_on_globals_unsafe(guard_entries):
    """Drops guards on globals."""
    return [not entry.is_global for entry in guard_entries]


def skip_all_guards_unsafe(guard_entries):
    """Drops all guards."""
    return [False for _ in guard_entries]


def __getattr__(name):
    if name == "config":
        import importlib

        return importlib.import_module("torch.compiler.config")
    raise AttributeError(f"module 'torch.compiler' has no attribute '{name}'")
