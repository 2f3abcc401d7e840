"""`torch.xpu`: there is no such device."""


def is_available():
    """False."""
    return False


def device_count():
    """0."""
    return 0


def manual_seed(seed):
    """Nothing to seed."""
