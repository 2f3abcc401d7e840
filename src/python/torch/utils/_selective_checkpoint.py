"""Selective activation checkpointing in eager mode: a dispatch mode around the forward keeps the results that a policy wants saved, and
one around the recomputation gives them again instead of computing them."""

from collections import defaultdict

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

# Checkpoints detach other tensors in the forward than in the recomputation.
SAC_IGNORED_OPS = {torch.ops.aten.detach.default}

_RECOMPUTE, _CONSUMED = object(), object()
_MISMATCH = (
    "This can happen if the operations in the checkpointed region are nondeterministic or depend on global state that changed between "
    "forward and backward."
)


class _Kept:
    """A saved result, which nobody may write to. `hooks`: the functions that pack and unpack it, None where it is kept as it is."""

    def __init__(self, value, hooks):
        is_tensor = isinstance(value, torch.Tensor)
        value = value.detach() if is_tensor else value
        self.unpack = hooks[1] if is_tensor and hooks is not None else None
        self.value = value if self.unpack is None else hooks[0](value)
        self.version = self.value._version if isinstance(self.value, torch.Tensor) else None

    def get(self, may_be_written):
        if self.version is not None and not may_be_written and self.value._version != self.version:
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return self.value if self.unpack is None else self.unpack(self.value)


class _CachingTorchDispatchMode(TorchDispatchMode):
    """Around the forward. `policy` is a function, or a list of overloads to save; compiled functions read it."""

    @classmethod
    def ignore_compile_internals(cls):
        return True

    def __init__(self, policy, storage):
        super().__init__()
        self.policy, self.storage = policy, storage
        self.counts = defaultdict(int)
        # Whether what is saved goes through the script's hooks on saved tensors; None: it does not, with a warning.
        self.respect_saved_tensors_hooks = None

    def _hooks(self):
        """The script's hooks that what is saved goes through."""
        from torch.utils._checkpoint_frame import user_hooks

        hooks = user_hooks()
        if hooks is not None and self.respect_saved_tensors_hooks is None:
            import warnings

            warnings.warn(
                "A saved_tensors_hooks context (e.g. save_on_cpu) is active around a selective activation checkpoint region. "
                "Tensors that SAC saves currently bypass these hooks, but a future release will route them through the hooks like "
                "any other saved tensor. Silence this warning and choose the behavior explicitly by passing "
                "respect_saved_tensors_hooks=True|False to torch.utils.checkpoint.checkpoint.",
                FutureWarning,
                stacklevel=3,
            )
        return hooks if self.respect_saved_tensors_hooks else None

    def _wants(self, func, args, kwargs, out):
        from torch.utils.checkpoint import CheckpointPolicy, SelectiveCheckpointContext

        if isinstance(self.policy, list):
            return func in self.policy
        chosen = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=out), func, *args, **kwargs)
        return chosen is True or chosen in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if func in SAC_IGNORED_OPS:
            return out
        index = self.counts[func]
        self.counts[func] += 1
        if self._wants(func, args, kwargs, out):
            hooks = self._hooks()
            self.storage[func][index] = tree_map(lambda value: _Kept(value, hooks), out)
        else:
            self.storage[func][index] = _RECOMPUTE
        return out


class _CachedTorchDispatchMode(TorchDispatchMode):
    """Around the recomputation."""

    @classmethod
    def ignore_compile_internals(cls):
        return True

    def __init__(self, storage, may_be_written):
        super().__init__()
        self.storage, self.may_be_written = storage, may_be_written
        self.counts = defaultdict(int)

    def __enter__(self):
        self.counts.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func in SAC_IGNORED_OPS:
            return func(*args, **(kwargs or {}))
        index = self.counts[func]
        self.counts[func] += 1
        if func not in self.storage:
            raise RuntimeError(f"{func} encountered during backward but not found in storage. {_MISMATCH}")
        known = self.storage[func].get(index)
        if known is None:
            raise RuntimeError(
                f"{func} invocation index {index} encountered during backward but not found in storage. {_MISMATCH}"
            )
        if known is _CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under selective "
                "activation checkpoint."
            )
        if known is _RECOMPUTE:
            return func(*args, **(kwargs or {}))
        self.storage[func][index] = _CONSUMED
        return tree_map(lambda kept: kept.get(self.may_be_written), known)


def contexts(policy, may_be_written):
    """Both modes."""
    storage = defaultdict(dict)
    return _CachingTorchDispatchMode(policy, storage), _CachedTorchDispatchMode(storage, may_be_written)
