"""Padding."""

__dynamo__ = "modules"

from torch.nn import functional as F
from torch.nn.modules.module import Module
from torch.nn.modules.utils import _ntuple, _pair, _quadruple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
    "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip

_sextuple = _ntuple(6)


class _PadNd(Module):
    """Pads in `mode`; a subclass says for how many dimensions."""

    mode = None
    parse = None

    def __init__(self, padding):
        super().__init__()
        self.padding = type(self).parse(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self):
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    mode = "circular"
    dims = None

    def forward(self, input):
        low, high = self.dims
        if input.dim() not in (low, high):
            raise ValueError(f"expected {low}D or {high}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Wraps around."""

    parse, dims = staticmethod(_pair), (2, 3)


class CircularPad2d(_CircularPadNd):
    """Wraps around."""

    parse, dims = staticmethod(_quadruple), (3, 4)


class CircularPad3d(_CircularPadNd):
    """Wraps around."""

    parse, dims = staticmethod(_sextuple), (4, 5)


class _ConstantPadNd(_PadNd):
    mode = "constant"

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Pads with a value."""

    parse = staticmethod(_pair)


class ConstantPad2d(_ConstantPadNd):
    """Pads with a value."""

    parse = staticmethod(_quadruple)


class ConstantPad3d(_ConstantPadNd):
    """Pads with a value."""

    parse = staticmethod(_sextuple)


class ReflectionPad1d(_PadNd):
    """Mirrors at the edge."""

    mode, parse = "reflect", staticmethod(_pair)


class ReflectionPad2d(_PadNd):
    """Mirrors at the edge."""

    mode, parse = "reflect", staticmethod(_quadruple)


class ReflectionPad3d(_PadNd):
    """Mirrors at the edge."""

    mode, parse = "reflect", staticmethod(_sextuple)


class ReplicationPad1d(_PadNd):
    """Repeats the edge."""

    mode, parse = "replicate", staticmethod(_pair)


class ReplicationPad2d(_PadNd):
    """Repeats the edge."""

    mode, parse = "replicate", staticmethod(_quadruple)


class ReplicationPad3d(_PadNd):
    """Repeats the edge."""

    mode, parse = "replicate", staticmethod(_sextuple)


class _ZeroPad:
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pads with zeros."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pads with zeros."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pads with zeros."""
