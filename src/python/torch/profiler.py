"""`torch.profiler`: a stub that measures nothing and says so. Blocks have names, tables are one line."""

import enum

from torch.autograd.profiler import record_function

__all__ = [
    "profile", "schedule", "supported_activities", "tensorboard_trace_handler", "ProfilerAction", "ProfilerActivity", "record_function",
]  # fmt: skip

_NOTHING = "(nothing was measured: profiling is not available in the playground)"


class ProfilerActivity(enum.Enum):
    """What would be measured."""

    CPU = 0
    CUDA = 2


class ProfilerAction(enum.Enum):
    """What a schedule would do in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class _NoEvents(list):
    """Events of a profile: none."""

    def table(self, *args, **kwargs):
        return _NOTHING

    def total_average(self):
        return self

    __str__ = table


class profile:
    """A profile without events."""

    def __init__(self, activities=None, *, schedule=None, on_trace_ready=None, **kwargs):
        self.step_num = 0

    def __enter__(self):
        return self

    def __exit__(self, *args):
        pass

    def start(self):
        """Nothing begins."""

    stop = start

    def step(self):
        """A step is over."""
        self.step_num += 1

    def key_averages(self, *args, **kwargs):
        """No events."""
        return _NoEvents()

    def events(self):
        """No events."""
        return _NoEvents()

    def export_chrome_trace(self, path):
        """There is nothing to write, and no file to write it to."""

    export_stacks = add_metadata = add_metadata_json = lambda self, *args, **kwargs: None


def schedule(*, wait=0, warmup=0, active=0, repeat=0, skip_first=0, **kwargs):
    """A schedule of a profile."""
    return lambda step: ProfilerAction.NONE


def supported_activities():
    """What could be measured elsewhere."""
    return {ProfilerActivity.CPU}


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """What would write traces."""
    return lambda prof: None
