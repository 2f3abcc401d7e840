"""`torch.cpu`."""


def is_available():
    """True."""
    return True


def device_count():
    """1."""
    return 1


def current_device():
    """The CPU's name."""
    return "cpu"


def synchronize(device=None):
    """Nothing to wait for."""
