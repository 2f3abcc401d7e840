"""`torch.profiler`: blocks have names, nothing is measured."""

import enum

from torch.autograd.profiler import record_function


class ProfilerActivity(enum.Enum):
    """What would be measured."""

    CPU = 0
    CUDA = 2


class profile:
    """A profile without events."""

    def __init__(self, **kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *args):
        pass

    start = stop = step = lambda self: None

    def key_averages(self, *args, **kwargs):
        raise NotImplementedError("profiling is not available in the playground")

    export_chrome_trace = key_averages


def schedule(**kwargs):
    """A schedule of a profile."""
    return lambda step: None
