"""Guards as a `guard_filter_fn` sees them, and which of them it keeps."""

import enum
import types

import torch
from torch._dynamo.types import GuardFilterEntry

__all__ = ["GuardFilterEntry"]

# Guards that do not depend on a value.
_OF_STATE = (
    ("AUTOGRAD_SAVED_TENSORS_HOOKS", True), ("GRAD_MODE", False), ("DETERMINISTIC_ALGORITHMS", False), ("GLOBAL_STATE", False),
    ("TORCH_FUNCTION_STATE", False), ("DEFAULT_DEVICE", True), ("SHAPE_ENV", False),
)  # fmt: skip
_TYPES = {"remaining": "TUPLE_ITERATOR_LEN", "key": "DICT_CONST_KEYS", "contains": "DICT_CONTAINS", "lacks": "DICT_CONTAINS",
          "attribute": "HASATTR", "same": "DUPLICATE_INPUT", "temporary": "TYPE_MATCH"}  # fmt: skip


class _Source:
    """Where the value of a guard is found."""

    def __init__(self, name, holders):
        self.name, self._holders = name, [holder for holder in holders if isinstance(holder, torch.nn.Module)]

    def is_unspecialized_nn_module(self):
        """Whether a module has it."""
        return bool(self._holders)

    def is_unspecialized_builtin_nn_module(self):
        """Whether one of PyTorch's modules has it."""
        return any(type(holder).__module__.startswith(("torch.nn.", "torch.ao.")) for holder in self._holders)


class _Guard:
    """A guard."""

    def __init__(self, source, kind):
        self.source, self.name, self._kind = source, source.name, kind

    def create_fn_name(self):
        """Its type."""
        return self._kind


def _kind(value, kind):
    """The type of a guard, and those that it comes to."""
    if kind == "equals":
        if value is None or isinstance(value, bool):
            return "CONSTANT_MATCH", ("NONE_MATCH" if value is None else "BOOL_MATCH",)
        return "EQUALS_MATCH" if isinstance(value, enum.Enum) else "CONSTANT_MATCH", ("EQUALS_MATCH",)
    if kind == "is":
        if isinstance(value, type):
            return "CLASS_MATCH", ("ID_MATCH",)
        if isinstance(value, types.ModuleType):
            return "MODULE_MATCH", ("ID_MATCH",)
        if isinstance(value, (types.FunctionType, types.MethodType)):
            return "CLOSURE_MATCH", ("ID_MATCH",)
        return ("BUILTIN_MATCH" if callable(value) else "ID_MATCH"), ("ID_MATCH",)
    if kind == "type":
        name = "TENSOR_MATCH" if isinstance(value, torch.Tensor) else "TYPE_MATCH"
        return name, (name,)
    if kind == "length":
        return ("DICT_LENGTH" if isinstance(value, dict) else "SEQUENCE_LENGTH"), ()
    return _TYPES[kind], ()


def _kept(filter, rows):
    """Of every guard on a value, whether the script's function keeps it."""
    entries, owners = [], []
    for i, (name, value, kind, is_global, holders) in enumerate(rows):
        guard_type, derived = _kind(value, kind)
        source = _Source(name, holders)
        # Of a global, what it equals is guarded twice.
        for told in ("EQUALS_MATCH", guard_type) if guard_type == "CONSTANT_MATCH" and is_global else (guard_type,):
            entries.append(GuardFilterEntry(name, True, value, told, derived, is_global, _Guard(source, told)))
            owners.append(i)
    nothing = object()
    for name, is_derived in _OF_STATE:
        derived = (name,) if is_derived else ()
        entries.append(GuardFilterEntry("", False, nothing, name, derived, False, _Guard(_Source("", ()), name)))
    results = filter(entries)
    if len(results) != len(entries):
        raise AssertionError(f"filter_results length ({len(results)}) != sorted_guards length ({len(entries)})")
    if not all(type(result) is bool for result in results):
        raise AssertionError("All filter_results entries must be bool")
    is_dropped = lambda entry: entry.guard_type == "TENSOR_MATCH" and not isinstance(entry.value, torch.nn.Parameter)
    dropped = [entry.name for entry, keeps in zip(entries, results) if not keeps and is_dropped(entry)]
    if dropped:
        raise NotImplementedError(
            f"guard_filter_fn: the guards of the tensors {', '.join(dropped)} cannot be dropped in the playground, only those of other values"
        )
    keeps = [False] * len(rows)
    for owner, entry, result in zip(owners, entries, results):
        keeps[owner] = keeps[owner] or result or entry.guard_type == "TENSOR_MATCH"
    return keeps
