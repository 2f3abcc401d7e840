"""`torch.compiler`: the public switches of `torch.compile`."""

from torch import _native_compile
from torch._dynamo import allow_in_graph, disable, is_compiling, list_backends, reset, set_stance

is_dynamo_compiling = is_compiling


def is_exporting():
    return False


def assume_constant_result(fn):
    return fn


def nested_compile_region(fn=None, *, options=None, max_reuse_entries=8, reuse_hash_fn=None):
    """Marks a function that a model calls often, so that it is compiled once.

    It is traced into its caller's graph like any other, as PyTorch does under `torch._dynamo.config.inline_invoke_subgraph`: values and
    gradients are the same."""
    if options is not None:
        raise RuntimeError("nested_compile_region config is an experimental feature for testing only.")
    return (lambda function: function) if fn is None else fn


def cudagraph_mark_step_begin():
    """There are no CUDA graphs here; what is captured ends all the same."""
    _native_compile._leave("skipped", "cudagraph_mark_step_begin", "torch.compiler", "torch/compiler/__init__")


def compile(*args, **kwargs):
    import torch

    return torch.compile(*args, **kwargs)


def __getattr__(name):
    if name == "config":
        import importlib

        return importlib.import_module("torch.compiler.config")
    raise AttributeError(f"module 'torch.compiler' has no attribute '{name}'")
