"""Convolutions."""

__dynamo__ = "modules"

import math

import torch
from torch.nn import functional as F
from torch.nn import init
from torch.nn.modules._parameters import _bias_bound, _declare
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.modules.module import Module
from torch.nn.modules.utils import _pair, _reverse_repeat_tuple, _single, _triple
from torch.nn.parameter import UninitializedParameter

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip


class _ConvNd(Module):
    """What all convolutions share; a subclass sets `_tuple` to its number of dimensions' parser."""

    _tuple = None

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups,
        bias,
        padding_mode,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string {padding!r}, should be one of { {'same', 'valid'} }"
                )
            if padding == "same" and any(step != 1 for step in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        modes = {"zeros", "reflect", "replicate", "circular"}
        if padding_mode not in modes:
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._padding_for_pad()
        options = {"device": device, "dtype": dtype}
        _declare(self, options, weight=self._weight_shape(), bias=out_channels if bias else None)
        self.reset_parameters()

    def _weight_shape(self):
        channels = self.out_channels, self.in_channels // self.groups
        if self.transposed:
            channels = self.in_channels, self.out_channels // self.groups
        return (*channels, *self.kernel_size)

    def _padding_for_pad(self):
        """The padding as `F.pad` takes it: both sides, last dimension first."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        result = []
        for dilation, size in zip(reversed(self.dilation), reversed(self.kernel_size)):
            total = dilation * (size - 1) if self.padding == "same" else 0
            result += [total // 2, total - total // 2]
        return result

    def reset_parameters(self):
        with torch.no_grad():
            if self.weight.is_contiguous():
                init.kaiming_uniform_(self.weight, a=math.sqrt(5))
            else:
                drawn = torch.empty_like(self.weight, memory_format=torch.contiguous_format)
                init.kaiming_uniform_(drawn, a=math.sqrt(5))
                self.weight.copy_(drawn)
            if self.bias is not None:
                bound = _bias_bound(self.weight)
                if bound != 0:
                    init.uniform_(self.bias, -bound, bound)

    def _conv_forward(self, input, weight, bias):
        convolve = getattr(F, self._operator)
        if self.padding_mode != "zeros":
            padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return convolve(padded, weight, bias, self.stride, type(self)._tuple(0), self.dilation, self.groups)
        return convolve(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)

    def extra_repr(self):
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        parse = type(self)._tuple
        super().__init__(
            in_channels,
            out_channels,
            parse(kernel_size),
            parse(stride),
            padding if isinstance(padding, str) else parse(padding),
            parse(dilation),
            False,
            parse(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )


class Conv1d(_Conv):
    """Convolves (N, C, L)."""

    _tuple, _operator = staticmethod(_single), "conv1d"


class Conv2d(_Conv):
    """Convolves (N, C, H, W)."""

    _tuple, _operator = staticmethod(_pair), "conv2d"


class Conv3d(_Conv):
    """Convolves (N, C, D, H, W)."""

    _tuple, _operator = staticmethod(_triple), "conv3d"


class _ConvTransposeNd(_ConvNd):
    """The transpose of a convolution."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {self.__class__.__name__}')
        parse = type(self)._tuple
        super().__init__(
            in_channels,
            out_channels,
            parse(kernel_size),
            parse(stride),
            parse(padding),
            parse(dilation),
            True,
            parse(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input, output_size, stride, padding, kernel_size, ndim, dilation=None):
        if output_size is None:
            return _single(self.output_padding)
        others = 2 if input.dim() == ndim + 2 else 1
        if len(output_size) == others + ndim:
            output_size = output_size[others:]
        if len(output_size) != ndim:
            raise ValueError(
                f"ConvTranspose{ndim}D: for {input.dim()}D input, output_size must have {ndim} or {others + ndim} elements "
                f"(got {len(output_size)})"
            )
        spread = (1,) * ndim if dilation is None else dilation
        least = [
            (input.size(d + others) - 1) * stride[d] - 2 * padding[d] + spread[d] * (kernel_size[d] - 1) + 1
            for d in range(ndim)
        ]
        most = [least[d] + stride[d] - 1 for d in range(ndim)]
        if any(not low <= size <= high for low, size, high in zip(least, output_size, most)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} (for an input of "
                f"{input.size()[2:]})"
            )
        return [output_size[d] - least[d] for d in range(ndim)]

    def forward(self, input, output_size=None):
        ndim = len(self.kernel_size)
        output_padding = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, ndim, self.dilation
        )
        return getattr(F, self._operator)(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of `Conv1d`."""

    _tuple, _operator = staticmethod(_single), "conv_transpose1d"


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of `Conv2d`."""

    _tuple, _operator = staticmethod(_pair), "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of `Conv3d`."""

    _tuple, _operator = staticmethod(_triple), "conv_transpose3d"


class _LazyConvXdMixin(LazyModuleMixin):
    """A convolution that learns `in_channels` from its first input."""

    def __init__(self, out_channels, kernel_size, *args, bias=True, device=None, dtype=None, **kwargs):
        options = {"device": device, "dtype": dtype}
        # The parameters' sizes are unknown, so none are made and nothing is drawn yet.
        super().__init__(0, 0, kernel_size, *args, bias=False, **kwargs, **options)
        self.weight = UninitializedParameter(**options)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(**options)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        if not self.has_uninitialized_params():
            return
        ndim = len(self.kernel_size)
        if input.dim() not in (ndim + 1, ndim + 2):
            raise RuntimeError(
                f"Expected {ndim + 1}D (unbatched) or {ndim + 2}D (batched) input to {self.__class__.__name__}, but got "
                f"input of size: {input.shape}"
            )
        self.in_channels = input.shape[-ndim - 1]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._weight_shape())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class LazyConv1d(_LazyConvXdMixin, Conv1d):
    """A lazy `Conv1d`."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvXdMixin, Conv2d):
    """A lazy `Conv2d`."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvXdMixin, Conv3d):
    """A lazy `Conv3d`."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d):
    """A lazy `ConvTranspose1d`."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d):
    """A lazy `ConvTranspose2d`."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d):
    """A lazy `ConvTranspose3d`."""

    cls_to_become = ConvTranspose3d
