"""Backends of `torch.compile` by name: PyTorch's own, and those that a script registers."""

_REGISTERED = {}
_OWN = ("cudagraphs", "inductor", "openxla", "tvm")
_DEBUG = ("aot_eager", "aot_eager_decomp_partition", "aot_eager_default_partitioner", "eager", "eager_noexcept")


def register_backend(compiler_fn=None, name=None, tags=()):
    """Gives a backend of a script's a name."""
    if compiler_fn is None:
        return lambda fn: register_backend(fn, name, tags)
    if not callable(compiler_fn):
        raise AssertionError(f"compiler_fn must be callable, got {compiler_fn!r}")
    own = name or compiler_fn.__name__
    if own in _REGISTERED:
        raise AssertionError(f"duplicate name: {own}")
    _REGISTERED[own] = compiler_fn
    return compiler_fn


register_debug_backend = register_experimental_backend = register_backend


def list_backends(exclude_tags=("debug", "experimental")):
    """The names that `torch.compile(backend=...)` takes; those for debugging only where nothing is excluded."""
    return sorted([*_OWN, *(() if exclude_tags else _DEBUG), *_REGISTERED])


def _known(compiler_fn):
    """What `torch.compile` compiles with: the name of a backend of PyTorch's, or a function of the script's."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn not in _REGISTERED and compiler_fn not in (*_OWN, *_DEBUG):
        from torch._dynamo.exc import InvalidBackend

        raise InvalidBackend(compiler_fn)
    if compiler_fn == "cudagraphs" and compiler_fn not in _REGISTERED:
        from torch._dynamo.backends.cudagraphs import cudagraphs

        return cudagraphs
    return _REGISTERED.get(compiler_fn, compiler_fn)


def lookup_backend(compiler_fn):
    """The backend of a name, as a function; other things are given back."""
    found = _known(compiler_fn)
    return _function(found) if isinstance(found, str) else found


def _function(name):
    def backend(gm, example_inputs, **_):
        if name.startswith("eager"):
            return gm.forward
        from torch._dynamo.backends.common import aot_autograd
        from torch._functorch.compilers import nop
        from torch._functorch.partitioners import default_partition, min_cut_rematerialization_partition

        partitioners = {"aot_eager": min_cut_rematerialization_partition, "aot_eager_default_partitioner": default_partition}
        if name not in partitioners:
            raise NotImplementedError(f"calling the backend {name!r} as a function is not available in the playground")
        return aot_autograd(fw_compiler=nop, partition_fn=partitioners[name], keep_inference_input_mutations=True)(gm, example_inputs)

    backend.__name__ = backend.__qualname__ = name
    return backend
