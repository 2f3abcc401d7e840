"""`torch.cuda`: there is no such device."""

_NO_DRIVER = (
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from "
    "http://www.nvidia.com/Download/index.aspx"
)


def is_available():
    """False."""
    return False


def is_initialized():
    """False."""
    return False


def is_bf16_supported(including_emulation=True):
    """False."""
    return False


def device_count():
    """0."""
    return 0


def _missing(*args, **kwargs):
    raise RuntimeError(_NO_DRIVER)


current_device = get_device_name = get_device_properties = get_device_capability = set_device = _missing
current_stream = Stream = Event = _missing


def _nothing(*args, **kwargs):
    """What does nothing without a device."""


manual_seed = manual_seed_all = seed = seed_all = empty_cache = init = _nothing
reset_peak_memory_stats = reset_max_memory_allocated = ipc_collect = _nothing


def synchronize(device=None):
    """Nothing to wait for."""
    _missing()


def _zero(*args, **kwargs):
    return 0


memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = _zero


def __getattr__(name):
    if name == "amp":
        return __import__("torch.cuda.amp", fromlist=["_"])
    raise AttributeError(f"module 'torch.cuda' has no attribute '{name}'")
