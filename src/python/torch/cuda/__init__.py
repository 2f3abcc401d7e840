"""`torch.cuda`: there is no such device, but for one that a run pretends. Its tensors are computed on the CPU."""

from _playground import pretends_cuda as is_available

_NO_DRIVER = (
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from "
    "http://www.nvidia.com/Download/index.aspx"
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


def _refused(name):
    def refused(*args, **kwargs):
        _require()
        raise NotImplementedError(f"torch.cuda.{name} is not supported: {_PRETENDED}")

    refused.__name__ = name
    return refused


get_device_properties, get_device_capability = _refused("get_device_properties"), _refused("get_device_capability")
current_stream, Stream, Event = _refused("current_stream"), _refused("Stream"), _refused("Event")
stream, graph, CUDAGraph = _refused("stream"), _refused("graph"), _refused("CUDAGraph")


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


empty_cache = init = ipc_collect = _nothing


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
reset_peak_memory_stats, reset_max_memory_allocated = _memory("reset_peak_memory_stats"), _memory("reset_max_memory_allocated")


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
