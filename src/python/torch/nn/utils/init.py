"""`skip_init`: a module whose parameters are not initialized."""

import inspect

import torch


def skip_init(module_cls, *args, **kwargs):
    """Makes a module on the meta device, then gives it memory that nobody has written to."""
    if not issubclass(module_cls, torch.nn.Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
