"""Autograd functions that modules use."""

__dynamo__ = "modules"

from torch.autograd.function import Function


class BackwardHookFunction(Function):
    """The identity; its node is where a module's backward hooks sit."""

    @staticmethod
    def forward(ctx, *args):
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx, *args):
        return args
