"""`torch.func`: functional transforms."""

from torch.nn.utils.stateless import functional_call

__all__ = ["functional_call"]
