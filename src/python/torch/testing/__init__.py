"""`torch.testing`."""

from torch.testing._comparison import assert_allclose, assert_close

__all__ = ["assert_close", "assert_allclose", "make_tensor"]


def make_tensor(*shape, dtype, device="cpu", low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False, memory_format=None):
    """A tensor of drawn values."""
    import torch

    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, device=device, dtype=dtype)
    if dtype.is_floating_point or dtype.is_complex:
        low, high = -9 if low is None else low, 9 if high is None else high
        result = torch.empty(shape, dtype=dtype, device=device).uniform_(low, high)
    else:
        low = (0 if dtype is torch.uint8 else -9) if low is None else low
        result = torch.randint(low, 10 if high is None else high, shape, device=device, dtype=dtype)
    if noncontiguous and result.numel() > 1:
        result = torch.repeat_interleave(result, 2, dim=-1)[..., ::2]
    if memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = torch.finfo(dtype).tiny if dtype.is_floating_point or dtype.is_complex else 1
    return result.requires_grad_(requires_grad)
