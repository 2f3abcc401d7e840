"""`torch.utils`: each part is read when first used."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.utils' has no attribute '{name}'")
    try:
        return __import__(f"torch.utils.{name}", fromlist=["_"])
    except ModuleNotFoundError:
        raise AttributeError(f"module 'torch.utils' has no attribute '{name}'") from None
