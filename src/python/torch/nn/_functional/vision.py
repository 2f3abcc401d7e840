"""Padding, interpolation, sampling and sliding blocks."""

__dynamo__ = "functions"

import torch
from torch._C import _nn
from torch.nn._functional import functional, warn
from torch.nn.modules.utils import _pair


def pad(input, pad, mode="constant", value=None):
    """Adds elements around the last dimensions."""
    return _nn.pad(input, pad, mode, value)


@functional
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Takes the blocks of an image."""
    return _nn.im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


@functional
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Adds blocks up into an image."""
    return _nn.col2im(
        input, _pair(output_size), _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride)
    )


def _sizes(input, size, scale_factor, ndim):
    """Output size and scale factors per dimension; one of the two is None."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    given = size if scale_factor is None else scale_factor
    if not isinstance(given, (list, tuple)):
        given = [given] * ndim
    elif len(given) != ndim:
        spatial = list(input.shape[2:])
        if size is not None:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions "
                f"of {spatial} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
                "output size in (o1, o2, ...,oK) format."
            )
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {spatial} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
            "format and scale_factor in (s1, s2, ...,sK) format."
        )
    elif size is not None and not all(isinstance(extent, (int, torch.SymInt)) for extent in size):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with "
            f"types {[type(extent) for extent in size]}"
        )
    return (given, None) if scale_factor is None else (None, given)


_LINEAR = {"linear": 3, "bilinear": 4, "trilinear": 5}


@functional
def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Resamples to a size or by a factor."""
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
            )
    elif align_corners is None:
        align_corners = False
    ndim = input.dim()
    output_size, scale_factors = _sizes(input, size, scale_factor, ndim - 2)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if recompute_scale_factor or (mode == "area" and output_size is None):
        output_size = [
            torch.sym_int(input.size(place + 2) * factor) for place, factor in enumerate(scale_factors)
        ]
        scale_factors = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if ndim in (3, 4, 5):
        spatial = f"{ndim - 2}d"
        if mode == "nearest":
            return getattr(_nn, "upsample_nearest" + spatial)(input, output_size, scale_factors)
        if mode == "nearest-exact":
            return getattr(_nn, "_upsample_nearest_exact" + spatial)(input, output_size, scale_factors)
        if mode == "area":
            from torch.nn import functional as F

            return getattr(F, "adaptive_avg_pool" + spatial)(input, output_size)
        if mode in _LINEAR:
            if _LINEAR[mode] != ndim:
                raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {_LINEAR[mode]}D input")
            name = f"_upsample_{mode}{spatial}_aa" if antialias else f"upsample_{mode}{spatial}"
            return getattr(_nn, name)(input, output_size, align_corners, scale_factors)
        if mode == "bicubic" and ndim == 4:
            name = "_upsample_bicubic2d_aa" if antialias else "upsample_bicubic2d"
            return getattr(_nn, name)(input, output_size, align_corners, scale_factors)
        if mode == "lanczos" and ndim == 4:
            if align_corners:
                raise ValueError("Lanczos mode does not support align_corners=True")
            if not antialias:
                raise ValueError("Lanczos mode requires antialias=True")
            return _nn._upsample_lanczos2d_aa(input, output_size, align_corners, scale_factors)
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: nearest | linear | bilinear | "
        f"bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
    )


def _deprecated(name):
    warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=4)


@functional
def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The older name of `interpolate`."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@functional
def upsample_nearest(input, size=None, scale_factor=None):
    """Repeats the nearest pixel."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


@functional
def upsample_bilinear(input, size=None, scale_factor=None):
    """Interpolates linearly, corners aligned."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


_ALIGN = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
    "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details."
)


@functional
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Samples an image at the places that `grid` names."""
    modes = {"bilinear": 0, "nearest": 1, "bicubic": 2}
    paddings = {"zeros": 0, "border": 1, "reflection": 2}
    if mode not in modes:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in paddings:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        warn(_ALIGN)
        align_corners = False
    return torch.grid_sampler(input, grid, modes[mode], paddings[padding_mode], align_corners)


@functional
def affine_grid(theta, size, align_corners=None):
    """The sampling places of a batch of affine maps."""
    if align_corners is None:
        warn(_ALIGN)
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {size}."
        )
    ndim = len(size) - 2
    if theta.dim() != 3 or theta.shape[-2] != ndim or theta.shape[-1] != ndim + 1:
        raise ValueError(
            f"Expected a batch of {ndim}D affine matrices of shape Nx{ndim}x{ndim + 1} for size {size}. Got {theta.shape}."
        )
    if align_corners and min(size[-ndim:]) == 1:
        warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not "
            "an intended use case of affine_grid. See the documentation of affine_grid for details."
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return torch.affine_grid_generator(theta, size, align_corners)
