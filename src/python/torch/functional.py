"""Functions of `torch` that prepare their arguments for an operator."""

import torch
from torch import _C
from torch.overrides import overridable

_VF = _C._VariableFunctions


def _only_list(tensors):
    """The tensors of `f(a, b)` and of `f([a, b])` alike."""
    return tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


@overridable
def broadcast_tensors(*tensors):
    """The tensors expanded to one shape."""
    return _VF.broadcast_tensors(tensors)


def broadcast_shapes(*shapes):
    """The shape that shapes broadcast to."""
    shapes = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    result = [1] * max((len(shape) for shape in shapes), default=0)
    for shape in shapes:
        for place in range(-1, -len(shape) - 1, -1):
            extent = shape[place]
            if isinstance(extent, int) and extent < 0:
                raise RuntimeError(
                    f"Trying to create tensor with negative dimension ({extent}): ({extent})"
                )
            if extent == 1 or extent == result[place]:
                continue
            if result[place] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {extent} at {place}! Mismatching argument at index "
                    f"{shapes.index(shape)} had {shape}; but expected shape should be broadcastable to {result}"
                )
            result[place] = extent
    return torch.Size(result)


@overridable
def split(tensor, split_size_or_sections, dim=0):
    """Views of chunks along `dim`."""
    return tensor.split(split_size_or_sections, dim)


def _subscript(number):
    if number == Ellipsis:
        return "..."
    if 0 <= number < 26:
        return chr(ord("A") + number)
    if 26 <= number < 52:
        return chr(ord("a") + number - 26)
    raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")


@overridable
def einsum(*args):
    """Sums of products, by an equation or by lists of subscripts."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts "
            "list"
        )
    equation, operands = args[0], args[1:]
    if isinstance(equation, torch.Tensor):
        equation = ",".join("".join(_subscript(one) for one in subscripts) for subscripts in args[1::2])
        if len(args) % 2 == 1:
            equation += "->" + "".join(_subscript(one) for one in args[-1])
            operands = args[:-1:2]
        else:
            operands = args[::2]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return einsum(equation, *operands[0])
    return _VF.einsum(equation, operands)


@overridable
def meshgrid(*tensors, indexing=None):
    """Grids of coordinates."""
    tensors = _only_list(tensors)
    return _VF.meshgrid(tensors) if indexing is None else _VF.meshgrid(tensors, indexing=indexing)


@overridable
def stft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    """The short-time Fourier transform."""
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        ndim, pad = input.dim(), n_fft // 2
        padded = torch.nn.functional.pad(input.view([1] * (3 - ndim) + list(input.size())), [pad, pad], pad_mode)
        input = padded.view(padded.shape[-ndim:])
    return _VF.stft(
        input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window
    )


@overridable
def istft(*args, **kwargs):
    """The inverse of `stft`."""
    return _VF.istft(*args, **kwargs)


def _chosen(output, inverse, counts, return_inverse, return_counts):
    if not return_inverse and not return_counts:
        return output
    return (output, *([inverse] if return_inverse else ()), *([counts] if return_counts else ()))


@overridable
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements (or slices along `dim`)."""
    options = {"sorted": sorted, "return_inverse": return_inverse, "return_counts": return_counts}
    if dim is not None:
        found = _VF.unique_dim(input, dim, **options)
    else:
        found = _VF._unique2(input, **options)
    return _chosen(*found, return_inverse, return_counts)


@overridable
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements that differ from the one before."""
    found = _VF.unique_consecutive(input, return_inverse=return_inverse, return_counts=return_counts, dim=dim)
    return _chosen(*found, return_inverse, return_counts)


@overridable
def tensordot(a, b, dims=2, out=None):
    """A product summed over several dimensions."""
    if isinstance(dims, torch.Tensor):
        dims = tuple(dims.tolist()) if dims.numel() > 1 else int(dims.item())
    if isinstance(dims, (tuple, list)):
        dims_a, dims_b = dims
    elif isinstance(dims, (int, torch.SymInt)):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = list(range(-dims, 0)), list(range(dims))
    else:
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, but got "
            f"dims={dims}"
        )
    return _VF.tensordot(a, b, dims_a, dims_b) if out is None else _VF.tensordot(a, b, dims_a, dims_b, out=out)


@overridable
def cartesian_prod(*tensors):
    """All combinations of elements."""
    return _VF.cartesian_prod(tensors)


@overridable
def block_diag(*tensors):
    """A block diagonal matrix."""
    return _VF.block_diag(tensors)


@overridable
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """Distances between the rows of two matrices."""
    modes = {
        "use_mm_for_euclid_dist_if_necessary": None,
        "use_mm_for_euclid_dist": 1,
        "donot_use_mm_for_euclid_dist": 2,
    }
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _VF.cdist(x1, x2, p, modes[compute_mode])


def _atleast(operator, tensors):
    return operator(tensors[0] if len(tensors) == 1 else tensors)


@overridable
def atleast_1d(*tensors):
    """Adds dimensions up to one."""
    return _atleast(_VF.atleast_1d, tensors)


@overridable
def atleast_2d(*tensors):
    """Adds dimensions up to two."""
    return _atleast(_VF.atleast_2d, tensors)


@overridable
def atleast_3d(*tensors):
    """Adds dimensions up to three."""
    return _atleast(_VF.atleast_3d, tensors)


@overridable
def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The norm of a vector or matrix."""
    linalg = torch.linalg
    dims = [dim] if isinstance(dim, (int, torch.SymInt)) else dim
    options = {"dtype": dtype} if out is None else {"dtype": dtype, "out": out}
    if not isinstance(p, str):
        return linalg.vector_norm(input, 2.0 if p is None else p, dims, keepdim, **options)
    if p == "fro" and (dims is None or len(dims) <= 2):
        return linalg.vector_norm(input, 2, dims, keepdim, **options)
    if dims is None:
        dims = list(range(input.ndim))
    return linalg.matrix_norm(input, p, dims, keepdim, **options)


@overridable
def chain_matmul(*matrices, out=None):
    """The product of matrices, in the order that costs least."""
    matrices = _only_list(matrices)
    return _VF.chain_matmul(matrices) if out is None else _VF.chain_matmul(matrices, out=out)


def align_tensors(*tensors):
    """Named tensors are not available."""
    raise RuntimeError("align_tensors: named tensors are not supported in the playground")


@overridable
def lu(A, pivot=True, get_infos=False, out=None):
    """The LU factorization in its older form."""
    result = torch._lu_with_info(A, pivot=pivot, check_errors=not get_infos)
    result = tuple(result) if get_infos else tuple(result[:2])
    if out is None:
        return result
    for given, made in zip(out, result):
        given.resize_as_(made).copy_(made)
    return out


def unravel_index(indices, shape):
    """Coordinates of flat indices."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if not indices.dtype.is_floating_point and indices.dtype != torch.bool:
        indices = indices.long()
    result = []
    for extent in reversed(shape):
        result.append(indices % extent)
        indices = indices // extent
    return tuple(reversed(result))
