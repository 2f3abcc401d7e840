"""Where the values of a compiled function are found: what names their symbols."""

import enum
from dataclasses import dataclass

__all__ = ["Source", "ConstantSource", "LocalSource", "GlobalSource", "AttrSource", "GetItemSource", "TensorProperty", "TensorPropertySource"]


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


class TensorProperty(enum.Enum):
    """A number of a tensor."""

    SIZE = 0
    STRIDE = 1
    STORAGE_OFFSET = 2

    def method_name(self):
        """The method that gives it."""
        return {"SIZE": "size", "STRIDE": "stride", "STORAGE_OFFSET": "storage_offset"}[self.name]


@dataclass(frozen=True)
class TensorPropertySource(Source):
    """A number of a tensor that is found elsewhere."""

    base: Source
    prop: TensorProperty
    idx: int | None = None

    @property
    def name(self):
        place = "" if self.idx is None else f"[{self.idx}]"
        return f"{self.base.name}.{self.prop.method_name()}(){place}"


@dataclass(frozen=True)
class GetItemSource(Source):
    """An item of what is found elsewhere."""

    base: Source
    index: object

    @property
    def name(self):
        return f"{self.base.name}[{self.index!r}]"
