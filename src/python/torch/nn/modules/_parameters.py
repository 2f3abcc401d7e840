"""Parameters that a module declares by their sizes, and how they begin."""

__dynamo__ = "modules"

import math

import torch
from torch.nn import init
from torch.nn.parameter import Parameter


def _declare(module, options, **sizes):
    """Gives a module parameters of these sizes, without values yet; one without a size is registered as absent."""
    for name, size in sizes.items():
        if size is None:
            module.register_parameter(name, None)
        else:
            setattr(module, name, Parameter(torch.empty(size, **options)))


def _reset_scale(module):
    """A scale of ones and, where there is one, a shift of zeros."""
    init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)


def _bias_bound(weight):
    """What a bias is drawn within: one over the root of the weight's fan-in, 0 where that is 0."""
    fan_in, _ = init._calculate_fan_in_and_fan_out(weight)
    return 1 / math.sqrt(fan_in) if fan_in > 0 else 0
