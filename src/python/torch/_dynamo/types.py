"""What functions of a script's are given by Dynamo."""

from dataclasses import dataclass

__all__ = ["GuardFilterEntry"]


@dataclass(frozen=True)
class GuardFilterEntry:
    """A guard, as a `guard_filter_fn` sees it."""

    name: str
    has_value: bool
    value: object
    guard_type: str
    derived_guard_types: tuple
    is_global: bool
    orig_guard: object
