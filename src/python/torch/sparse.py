"""`torch.sparse`: there are no tensors of a sparse layout in the playground, so that what makes and reads them is absent."""

import torch


def __getattr__(name):
    from torch._absent import attribute_error

    raise attribute_error("torch.sparse", name)
