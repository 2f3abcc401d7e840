"""`torch.nn.grad`: gradients of convolutions with respect to their input or weight, without autograd."""

import torch
from torch.nn.modules.utils import _ntuple


def _backward(rank, grad_output, input, weight, stride, padding, dilation, groups, mask):
    each = _ntuple(rank)
    return torch.ops.aten.convolution_backward(
        grad_output, input, weight, None, each(stride), each(padding), each(dilation), False, [0], groups, mask
    )


def _of_input(rank):
    def gradient(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        input = grad_output.new_empty(1).expand(input_size)
        return _backward(rank, grad_output, input, weight, stride, padding, dilation, groups, (True, False, False))[0]

    return _named(gradient, f"conv{rank}d_input", "input")


def _of_weight(rank):
    def gradient(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        weight = grad_output.new_empty(1).expand(weight_size)
        return _backward(rank, grad_output, input, weight, stride, padding, dilation, groups, (False, True, False))[1]

    return _named(gradient, f"conv{rank}d_weight", "weight")


def _named(function, name, argument):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The gradient of {name.split('_')[0]} with respect to its {argument}."
    return function


conv1d_input, conv2d_input, conv3d_input = _of_input(1), _of_input(2), _of_input(3)
conv1d_weight, conv2d_weight, conv3d_weight = _of_weight(1), _of_weight(2), _of_weight(3)
