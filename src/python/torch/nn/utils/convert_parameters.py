"""Parameters as one vector, and back."""

import torch

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _one_device(param, device):
    if device is None:
        return param.device
    if param.device != device:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return device


def parameters_to_vector(parameters):
    """All parameters, flattened, in one vector."""
    device = None
    pieces = []
    for param in parameters:
        device = _one_device(param, device)
        pieces.append(param.view(-1))
    return torch.cat(pieces)


def vector_to_parameters(vec, parameters):
    """Makes parameters views of a vector's parts."""
    if not isinstance(vec, torch.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {torch.typename(vec)}")
    device = None
    start = 0
    for param in parameters:
        device = _one_device(param, device)
        count = param.numel()
        param.data = vec[start : start + count].view_as(param).data
        start += count
