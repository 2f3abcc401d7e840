"""Names that annotations use."""

from torch import Size, SymBool, SymFloat, SymInt, Tensor, device as _device, dtype as _dtype

Number = int | float | bool
Device = _device | str | int | None
_size = Size | list[int] | tuple[int, ...]
