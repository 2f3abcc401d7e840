"""`torch.accelerator`: PyTorch is built for CUDA devices, and there is none of them but for one that a run pretends."""

import collections

# Names of this module that are those of `torch.cuda`.
from torch.cuda import (
    _check,
    _memory,
    _refused,
    current_device as current_device_index,
    current_stream,
    device_count,
    empty_cache,
    is_available,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    reset_peak_memory_stats,
    set_device as set_device_index,
    synchronize,
)


def current_accelerator(check_available=False):
    """The kind that PyTorch is built for; None where one has to be there."""
    import torch

    return None if check_available and not is_available() else torch.device("cuda")


current_device_idx, set_device_idx = current_device_index, set_device_index
reset_accumulated_memory_stats, _counted = _memory("reset_accumulated_memory_stats"), _refused("memory_stats")


def get_memory_info(device=None, /):
    """There is none: an error."""
    _counted()


class device_index:
    """A block on one of the devices; None changes nothing."""

    def __init__(self, device, /):
        self.idx = device

    def __enter__(self):
        if self.idx is not None:
            _check(self.idx)

    def __exit__(self, *exc_info):
        pass


def memory_stats(device=None, /):
    """Nothing is counted."""
    if is_available():
        _counted()
    return collections.OrderedDict()
