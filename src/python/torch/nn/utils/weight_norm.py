"""Weight normalization by a forward pre-hook, of old."""

import torch
from torch.nn.parameter import Parameter, is_lazy
from torch.nn.utils._named_hooks import _find_hook, _take_off

__all__ = ["WeightNorm", "weight_norm", "remove_weight_norm"]


class WeightNorm:
    """Computes the weight from magnitude and direction before each forward."""

    def __init__(self, name, dim):
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module):
        # The order in which parameters are read is that of the inputs of a captured graph.
        magnitude = getattr(module, self.name + "_g")
        return torch._weight_norm(getattr(module, self.name + "_v"), magnitude, self.dim)

    @staticmethod
    def apply(module, name, dim):
        if _find_hook(module, WeightNorm, name) is not None:
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        fn = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy forward "
                "before applying weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(torch.norm_except_dim(weight, 2, fn.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, fn.compute_weight(module))
        module.register_forward_pre_hook(fn)
        return fn

    def remove(self, module):
        plain = Parameter(self.compute_weight(module).data)
        delattr(module, self.name)
        for part in ("_g", "_v"):
            del module._parameters[self.name + part]
        setattr(module, self.name, plain)

    def __call__(self, module, inputs):
        for one in inputs:
            if isinstance(one, torch.Tensor):
                one.dim()
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0):
    """Normalizes a parameter."""
    import warnings

    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module, name="weight"):
    """Makes a normalized parameter plain again."""
    if not _take_off(module, WeightNorm, name):
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    return module
