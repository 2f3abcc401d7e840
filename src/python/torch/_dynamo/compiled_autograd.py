"""Compiled autograd: `loss.backward()` as one compiled function over the gradients it starts from, what the tape kept, and hooks.

The engine runs the tape as it always does, with calls recorded as those of a compiled function are: so hooks are part of it, and the
compiled backward graph is a part of what is recorded. The same tape is the same function; sizes that vary become symbols."""

import contextlib
import types

import torch
from torch import _C, _native_compile, _native_tape

compiled_autograd_enabled = False
compiled_autograd_enabled_force_eager = False
active_disable_ctx = False

_compiler = None
_captured = {}


@contextlib.contextmanager
def _enable(compiler_fn, dynamic=True, ignore_active_disable_ctx=True):
    """Backwards in this block are compiled by `compiler_fn`."""
    if not ignore_active_disable_ctx and active_disable_ctx:
        yield
        return
    before = _set(compiler_fn)
    try:
        yield
    finally:
        _set(before)


@contextlib.contextmanager
def _disable():
    """Backwards in this block are not compiled."""
    global active_disable_ctx
    before, was_active = _set(None), active_disable_ctx
    active_disable_ctx = True
    try:
        yield
    finally:
        active_disable_ctx = was_active
        _set(before)


def _set(compiler_fn):
    global _compiler, compiled_autograd_enabled
    before, _compiler = _compiler, compiler_fn
    compiled_autograd_enabled = compiler_fn is not None
    return before


def reset():
    """Forgets every tape."""
    _set(None)
    _captured.clear()


class _Tape:
    """What was compiled for tapes of one shape: the sizes it was compiled for, those that vary as None."""

    def __init__(self, sizes):
        self.sizes = sizes
        self.compile()

    def compile(self):
        from torch._dynamo.utils import counters

        name = f"compiled_autograd_{len(_captured)}"
        function = types.FunctionType(_run_tape.__code__.replace(co_name=name), _run_tape.__globals__, name)
        counters["compiled_autograd"]["captures"] += 1
        self.compiled = _compiler(function)

    def serves(self, sizes):
        return all(known is None or known == size for known, size in zip(self.sizes, sizes))

    def vary(self, sizes):
        self.sizes = [known if known == size else None for known, size in zip(self.sizes, sizes)]
        self.compile()


def _run_tape(inputs):
    return _native_tape.run_tape(inputs)


def _run_backward(tensors, grads, retain_graph, create_graph, inputs, allow_unreachable, accumulate_grad):
    """What `backward()` and `grad()` call while backwards are compiled."""
    if create_graph:
        # A backward that is differentiated is not compiled.
        return _C._run_backward(tensors, grads, retain_graph, create_graph, inputs, allow_unreachable, accumulate_grad)
    _native_compile._end_for_backward()

    def run():
        key, sizes = _native_tape.shape_of_tape(tensors)
        tape = _captured.get(key)
        if tape is None:
            tape = _captured[key] = _Tape(sizes)
        elif not tape.serves(sizes):
            tape.vary(sizes)
        roots = [torch.ones_like(t) if g is None else g for t, g in zip(tensors, grads)]
        _native_tape.begin_tape((tensors, roots, retain_graph, False, inputs, allow_unreachable, accumulate_grad))
        try:
            with torch.no_grad():
                result = tape.compiled(roots)
            return _native_tape.settle_tape(result)
        finally:
            _native_tape.end_tape()

    return _native_compile._outside_of_calls(run)
