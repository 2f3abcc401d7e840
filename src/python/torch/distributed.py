"""`torch.distributed`: there is one process."""


def is_available():
    """False."""
    return False


def is_initialized():
    """False."""
    return False


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise RuntimeError(f"torch.distributed.{name} is not available in the playground: there is one process")
