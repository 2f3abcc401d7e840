"""The recorded graph as scripts see it: edges, hooks on what is saved, hooks on several gradients."""

import contextlib
import weakref
from collections import namedtuple

import torch
from torch import _C, _native_compile, _native_library
from torch._arguments import unobeyed

__all__ = [
    "saved_tensors_hooks", "save_on_cpu", "disable_saved_tensors_hooks", "register_multi_grad_hook", "GradientEdge",
    "get_gradient_edge", "increment_version", "allow_mutation_on_saved_tensors", "Node",
]  # fmt: skip

GradientEdge = namedtuple("GradientEdge", ("node", "output_nr", "ownership_token"), defaults=(None,))


def __getattr__(name):
    if name == "Node":
        return _C.Node
    raise AttributeError(f"module 'torch.autograd.graph' has no attribute '{name}'")


def get_gradient_edge(tensor):
    """Where a tensor's gradient goes."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node = tensor.grad_fn
    if node is None:
        node = tensor.view_as(tensor).grad_fn.next_functions[0][0]
    return GradientEdge(node, tensor.output_nr, None)


def increment_version(tensor):
    """Says that a tensor was written to."""
    for one in (tensor,) if isinstance(tensor, torch.Tensor) else tensor:
        _C._increment_version(one)


class saved_tensors_hooks:
    """Inside, `pack_hook` turns each saved tensor into what is kept and `unpack_hook` turns that back."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self):
        if _native_compile._is_capturing():
            _native_compile._graph_break("context_manager", type(self).__name__)
        _C._autograd._push_saved_tensors_default_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *args):
        try:
            _native_compile._end_returned()
        finally:
            _C._autograd._pop_saved_tensors_default_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Inside, saved tensors are kept on the CPU."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        def pack(tensor):
            return tensor.device, tensor.cpu()

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


class _Saved:
    """A tensor that is saved for backward, and its copy where its memory was written to since."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.is_copied = False

    def keep(self):
        if not self.is_copied:
            self.tensor, self.is_copied = self.tensor.clone(), True


class _AllowMutationOnSavedContext:
    """What is saved for backward, by the memory and the version that it was saved with."""

    def __init__(self):
        self._saved = {}

    def clear(self):
        """Forgets it."""
        self._saved.clear()

    def _pack(self, tensor):
        saved = _Saved(tensor)
        self._saved.setdefault(_memory(tensor), []).append(weakref.ref(saved))
        return saved

    def _before_write(self, tensor):
        for reference in self._saved.pop(_memory(tensor), ()):
            saved = reference()
            if saved is not None:
                saved.keep()


def _memory(tensor):
    return _native_library.storage_id(tensor), tensor._version


_mutation_allowed = False


@contextlib.contextmanager
def allow_mutation_on_saved_tensors():
    """Inside, a tensor that is saved for backward may be written to: before, it is copied for the backward. The backward runs inside, too."""
    from torch.utils._python_dispatch import TorchDispatchMode

    global _mutation_allowed
    context = _AllowMutationOnSavedContext()

    class _CopyBeforeWrites(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            for argument, value in zip(func._schema.arguments, args):
                if argument.alias_info is not None and argument.alias_info.is_write:
                    for tensor in value if isinstance(value, (list, tuple)) else (value,):
                        context._before_write(tensor)
            for name, value in kwargs.items():
                if name == "out":
                    for tensor in value if isinstance(value, (list, tuple)) else (value,):
                        context._before_write(tensor)
            return func(*args, **kwargs)

    with saved_tensors_hooks(context._pack, lambda saved: saved.tensor), _CopyBeforeWrites():
        if _mutation_allowed:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        _mutation_allowed = True
        try:
            yield context
        finally:
            context.clear()
            _mutation_allowed = False


class disable_saved_tensors_hooks:
    """Inside, hooks on saved tensors are an error."""

    def __init__(self, error_message, only_pre_existing=False):
        unobeyed("disable_saved_tensors_hooks", only_pre_existing=(only_pre_existing, False))
        self.error_message = error_message

    def __enter__(self):
        self.before = _C._autograd._saved_tensors_hooks_get_disabled_error_message()
        _C._autograd._saved_tensors_hooks_disable(self.error_message)

    def __exit__(self, *args):
        if self.before is None:
            _C._autograd._saved_tensors_hooks_enable()
        else:
            _C._autograd._saved_tensors_hooks_disable(self.before)


class _Handles:
    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.remove()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Calls `fn` when all gradients of `tensors` are there (with all of them), or with the first."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    nodes = [get_gradient_edge(tensor).node for tensor in tensors] if mode == "all" else []
    # What the hooks of each backward have seen: how many of them, of how many, and the gradients. Backwards nest.
    seen = {}

    def all_of(place):
        def hook(grad):
            task = _C._current_graph_task_id()
            if task == -1:
                raise AssertionError("expected this hook to be called inside a backward call")
            if task not in seen:
                seen[task] = [0, sum(map(_C._will_engine_execute_node, nodes)), [None] * len(tensors)]
            state = seen[task]
            state[0] += 1
            state[2][place] = grad
            if state[0] == state[1]:
                del seen[task]
                fn(state[2])

        return hook

    def any_of(grad):
        task = _C._current_graph_task_id()
        if task == -1:
            raise AssertionError("expected this hook to be called inside a backward call")
        if task not in seen:
            seen[task] = True
            fn(grad)

    return _Handles(tensor.register_hook(all_of(place) if mode == "all" else any_of) for place, tensor in enumerate(tensors))


def region_activation_memory_budget(budget):
    """Lets the partitioner keep to a share of memory for the calls of a compiled function in the block: 0 recomputes all, 1 is
    what it does without."""
    import torch
    from torch.fx.traceback import _MEMORY_BUDGET, annotate

    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise TypeError(f"torch.autograd.graph.region_activation_memory_budget: expects a float, got {type(budget).__name__}")
    if not 0.0 <= budget <= 1.0:
        raise ValueError(f"torch.autograd.graph.region_activation_memory_budget: must be in [0, 1], got {budget}")
    if not torch.compiler.is_compiling():
        raise RuntimeError(
            "torch.autograd.graph.region_activation_memory_budget can only be "
            "used inside a torch.compile region; it has no effect in eager mode."
        )
    return annotate({_MEMORY_BUDGET: float(budget)})
