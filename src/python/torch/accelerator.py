"""`torch.accelerator`: PyTorch is built for one kind, and there is none of them."""

import collections

from torch.cuda import _missing as _no_driver


def is_available():
    """False."""
    return False


def device_count():
    """0."""
    return 0


def current_accelerator(check_available=False):
    """The kind that PyTorch is built for; None where one has to be there."""
    import torch

    return None if check_available else torch.device("cuda")


def current_device_index():
    """There is none: an error."""
    _no_driver()


current_device_idx = current_device_index


def set_device_index(device, /):
    """There is none: an error."""
    _no_driver()


set_device_idx = set_device_index


def current_stream(device=None, /):
    """There is none: an error."""
    _no_driver()


def synchronize(device=None, /):
    """There is none: an error."""
    _no_driver()


def get_memory_info(device=None, /):
    """There is none: an error."""
    _no_driver()


class device_index:
    """A block on one of the devices; None changes nothing."""

    def __init__(self, device, /):
        self.idx = device

    def __enter__(self):
        if self.idx is not None:
            _no_driver()

    def __exit__(self, *exc_info):
        pass


def empty_cache():
    """Nothing to free."""


def memory_stats(device=None, /):
    """Nothing is counted."""
    return collections.OrderedDict()


def memory_allocated(device=None, /):
    """0."""
    return 0


def max_memory_allocated(device=None, /):
    """0."""
    return 0


def memory_reserved(device=None, /):
    """0."""
    return 0


def max_memory_reserved(device=None, /):
    """0."""
    return 0


def reset_peak_memory_stats(device=None, /):
    """Nothing to reset."""


def reset_accumulated_memory_stats(device=None, /):
    """Nothing to reset."""
