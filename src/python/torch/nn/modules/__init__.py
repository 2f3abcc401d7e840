"""The modules of `torch.nn` by name, as `torch.nn` itself has them."""

__dynamo__ = "modules"

_FILES = (
    "activation", "adaptive", "batchnorm", "channelshuffle", "container", "conv", "distance", "dropout", "flatten", "fold",
    "instancenorm", "lazy", "linear", "loss", "module", "normalization", "padding", "pixelshuffle", "pooling", "rnn",
    "sparse", "transformer", "upsampling", "utils",
)  # fmt: skip


def __getattr__(name):
    if name in _FILES:
        return __import__(f"torch.nn.modules.{name}", fromlist=["_"])
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.nn.modules' has no attribute '{name}'")
    from torch import nn

    return getattr(nn, name)
