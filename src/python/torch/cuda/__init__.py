"""`torch.cuda`: there is no such device, but for one that a run pretends. Its tensors are computed on the CPU."""

from contextlib import nullcontext
from itertools import count

from _playground import pretends_cuda as is_available

from torch._errors import AcceleratorError, OutOfMemoryError

_NO_DRIVER = (
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from "
    "http://www.nvidia.com/Download/index.aspx"
)
# What the runtime says of a machine whose driver it does not find, where it is asked before PyTorch looks.
_OLD_DRIVER = (
    "CUDA error: CUDA driver version is insufficient for CUDA runtime version\n"
    "Search for `cudaErrorInsufficientDriver' in "
    "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information.\n"
    "Device-side assertions were explicitly omitted for this error check; "
    "the error probably arose while initializing the DSA handlers."
)
_PRETENDED = "the playground pretends a CUDA device and has none"


def _has_driver():
    """Whether there is a device in earnest: what depends on one is off, as on a machine without a GPU."""
    return False


def is_initialized():
    """Whether there is a device."""
    return is_available()


def is_bf16_supported(including_emulation=True):
    """Whether there is a device."""
    return is_available()


def device_count():
    """1 or 0."""
    return int(is_available())


def _require():
    if not is_available():
        raise RuntimeError(_NO_DRIVER)


def _refused(name, error=(RuntimeError, _NO_DRIVER)):
    def refused(*args, **kwargs):
        if not is_available():
            kind, message = error
            raise kind(message)
        raise NotImplementedError(f"torch.cuda.{name} is not supported: {_PRETENDED}")

    refused.__name__ = name
    return refused


get_device_properties, get_device_capability = _refused("get_device_properties"), _refused("get_device_capability")
current_stream, _stream = _refused("current_stream"), _refused("stream")
get_rng_state, _set_rng_state, mem_get_info = _refused("get_rng_state"), _refused("set_rng_state"), _refused("mem_get_info")
_of_runtime = (AcceleratorError, _OLD_DRIVER)
Stream, graph, CUDAGraph = _refused("Stream", _of_runtime), _refused("graph", _of_runtime), _refused("CUDAGraph", _of_runtime)
make_graphed_callables = _refused("make_graphed_callables", _of_runtime)
is_current_stream_capturing = _refused("is_current_stream_capturing", _of_runtime)

def stream(stream):
    """A block of which a stream has the work; of none, it changes nothing."""
    return nullcontext() if stream is None else _stream(stream)


def set_rng_state(new_state, device="cuda"):
    """Without a device it waits for one."""
    if is_available():
        _set_rng_state(new_state, device)


_pools = count(1)


def graph_pool_handle():
    """A number that no other pool has: what a pool is for, no graph is recorded to tell."""
    return (0, next(_pools))


class Event:
    """A point in a stream's work, of which there is none."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        """Nothing is made before it is recorded."""

    def __repr__(self):
        return "<torch.cuda.Event uninitialized>"

    record, wait, elapsed_time = _refused("Event.record"), _refused("Event.wait"), _refused("Event.elapsed_time")

    def query(self):
        """Nothing that was recorded is left to do."""
        return True

    def synchronize(self):
        """Nothing that was recorded is left to wait for."""


def current_device():
    """0."""
    _require()
    return 0


def _index(device):
    import torch

    if device is None or isinstance(device, int):
        return device or 0
    return torch.device(device).index or 0


def _check(device):
    _require()
    if _index(device) != 0:
        raise RuntimeError("CUDA error: invalid device ordinal")


def get_device_name(device=None):
    """What the pretended device is called."""
    _check(device)
    return "pretended CUDA device"


def set_device(device):
    """The only device is the current one."""
    _check(device)


def synchronize(device=None):
    """Nothing to wait for."""
    _check(device)


def _seed(seed):
    # The pretended device draws from the CPU's generator.
    if is_available():
        import torch

        torch.manual_seed(seed)


manual_seed = manual_seed_all = _seed


def _nothing(*args, **kwargs):
    """What does nothing without a device."""


empty_cache = ipc_collect = _nothing


def init():
    """There is nothing to start."""
    _require()


def _drawn():
    if is_available():
        import torch

        torch.seed()


seed = seed_all = _drawn


def _memory(name):
    def memory(*args, **kwargs):
        """Of a device that is pretended nothing is known; without one it is 0."""
        if is_available():
            raise NotImplementedError(f"torch.cuda.{name} is not supported: {_PRETENDED}; the Memory pane says what a run holds")
        return 0

    memory.__name__ = name
    return memory


memory_allocated, max_memory_allocated = _memory("memory_allocated"), _memory("max_memory_allocated")
memory_reserved, max_memory_reserved = _memory("memory_reserved"), _memory("max_memory_reserved")
_of_statistics = (RuntimeError, "invalid argument to reset_peak_memory_stats")
reset_peak_memory_stats = _refused("reset_peak_memory_stats", _of_statistics)
reset_max_memory_allocated = _refused("reset_max_memory_allocated", _of_statistics)


class device:
    """A block in which a device is the current one: there is only one."""

    def __init__(self, device):
        self.idx = _index(device)

    def __enter__(self):
        _check(self.idx)

    def __exit__(self, *args):
        return False


def __getattr__(name):
    if name == "amp":
        return __import__("torch.cuda.amp", fromlist=["_"])
    raise AttributeError(f"module 'torch.cuda' has no attribute '{name}'")
