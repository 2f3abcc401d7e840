"""Where the values of a compiled function are found: what names their symbols."""

from dataclasses import dataclass

__all__ = ["Source", "ConstantSource", "LocalSource", "GlobalSource", "AttrSource"]


class Source:
    """A place where a value is found; `name` is how guards say it."""


@dataclass(frozen=True)
class ConstantSource(Source):
    """A value with a name of its own."""

    source_name: str

    @property
    def name(self):
        return self.source_name


@dataclass(frozen=True)
class LocalSource(Source):
    """A local variable."""

    local_name: str
    is_input: bool = False

    @property
    def name(self):
        return f"L[{self.local_name!r}]"


@dataclass(frozen=True)
class GlobalSource(Source):
    """A global variable."""

    global_name: str

    @property
    def name(self):
        return f"G[{self.global_name!r}]"


@dataclass(frozen=True)
class AttrSource(Source):
    """An attribute of what is found elsewhere."""

    base: Source
    member: str

    @property
    def name(self):
        return f"{self.base.name}.{self.member}"
