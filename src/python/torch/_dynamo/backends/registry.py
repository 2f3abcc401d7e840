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
    """The names that `torch.compile(backend=...)` takes."""
    return sorted([*_OWN, *_REGISTERED])


def lookup_backend(compiler_fn):
    """The backend of a name; other things are given back."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn not in _REGISTERED and compiler_fn not in (*_OWN, *_DEBUG):
        from torch._dynamo.exc import InvalidBackend

        raise InvalidBackend(compiler_fn)
    return _REGISTERED.get(compiler_fn, compiler_fn)
