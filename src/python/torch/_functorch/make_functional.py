"""`functorch.make_functional`, of old: a module as a function of its parameters. `torch.func.functional_call` came after it."""

import copy

import torch
from torch import nn
from torch.nn.utils import stateless


def _taken(model, disable_autograd_tracking):
    """A copy of a model, with the names and values of its parameters and of its buffers."""
    model = copy.deepcopy(model)
    params, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    if disable_autograd_tracking:
        for param in params.values():
            param.requires_grad_(False)
    return model, params, buffers


class FunctionalModule(nn.Module):
    """A model that is given its parameters with every call."""

    def __init__(self, stateless_model, param_names):
        super().__init__()
        self.stateless_model, self.param_names = stateless_model, param_names

    def forward(self, params, *args, **kwargs):
        given = dict(zip(self.param_names, params))
        return stateless._functional_call(self.stateless_model, given, args, kwargs)


class FunctionalModuleWithBuffers(nn.Module):
    """A model that is given its parameters and buffers with every call."""

    def __init__(self, stateless_model, param_names, buffer_names):
        super().__init__()
        self.stateless_model, self.param_names, self.buffer_names = stateless_model, param_names, buffer_names

    def forward(self, params, buffers, *args, **kwargs):
        given = dict(zip(self.param_names, params)) | dict(zip(self.buffer_names, buffers))
        return stateless._functional_call(self.stateless_model, given, args, kwargs)


def make_functional(model, disable_autograd_tracking=False):
    """A function of parameters and inputs, and the parameters."""
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    model, params, _ = _taken(model, disable_autograd_tracking)
    return FunctionalModule(model, tuple(params)), tuple(params.values())


def make_functional_with_buffers(model, disable_autograd_tracking=False):
    """A function of parameters, buffers and inputs, the parameters, and the buffers."""
    model, params, buffers = _taken(model, disable_autograd_tracking)
    return FunctionalModuleWithBuffers(model, tuple(params), tuple(buffers)), tuple(params.values()), tuple(buffers.values())


def combine_state_for_ensemble(models):
    """The function of the first of several models, and the parameters and buffers of all, stacked."""
    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    functions, params, buffers = zip(*(make_functional_with_buffers(model) for model in models))
    stack = lambda several: tuple(torch.stack(each).detach() for each in zip(*several))
    return functions[0], stack(params), stack(buffers)
