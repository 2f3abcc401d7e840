"""Recurrent networks and their cells."""

__dynamo__ = "modules"

import math

import torch
from torch import _C
from torch.nn import init
from torch.nn.modules.module import Module
from torch.nn.parameter import Parameter

__all__ = ["RNNBase", "RNN", "LSTM", "GRU", "RNNCellBase", "RNNCell", "LSTMCell", "GRUCell"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _is_packed(input):
    """Whether `input` is a `PackedSequence`, without importing it."""
    return isinstance(input, tuple) and hasattr(input, "batch_sizes")


def _permuted(tensor, permutation, dim=1):
    return tensor if permutation is None else tensor.index_select(dim, permutation)


class RNNBase(Module):
    """What `RNN`, `LSTM` and `GRU` share."""

    # Compiled functions call these as they are.
    _is_never_captured = True

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        factory_kwargs = {"device": device, "dtype": dtype}
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_arguments(dropout)
        width = _GATES[mode] * hidden_size
        out_size = proj_size if proj_size > 0 else hidden_size
        self._all_weights = []
        for layer in range(num_layers):
            in_size = input_size if layer == 0 else out_size * self._directions()
            for suffix in ("", "_reverse")[: self._directions()]:
                shapes = {"weight_ih": (width, in_size), "weight_hh": (width, out_size)}
                if bias:
                    shapes.update(bias_ih=(width,), bias_hh=(width,))
                if proj_size > 0:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = []
                for kind, shape in shapes.items():
                    name = f"{kind}_l{layer}{suffix}"
                    setattr(self, name, Parameter(torch.empty(shape, **factory_kwargs)))
                    names.append(name)
                self._all_weights.append(names)
        self.reset_parameters()

    def _check_arguments(self, dropout):
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            import warnings

            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
                f"greater than 1, but got dropout={dropout} and num_layers={self.num_layers}",
                stacklevel=4,
            )
        for name, kind in (("bias", bool), ("batch_first", bool), ("input_size", int), ("hidden_size", int)):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
            if kind is int and value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    def _directions(self):
        return 2 if self.bidirectional else 1

    @property
    def all_weights(self):
        """The parameters, a list per layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self):
        return [getattr(self, name) for names in self._all_weights for name in names]

    def flatten_parameters(self):
        """Only some devices want parameters in one piece; none that is here."""

    def reset_parameters(self):
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input, batch_sizes):
        weight = self._flat_weights[0]
        if input.dtype != weight.dtype and not torch.is_autocast_enabled():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _state_size(self, input, batch_sizes, width):
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        return (self.num_layers * self._directions(), batch, width)

    def get_expected_hidden_size(self, input, batch_sizes):
        return self._state_size(input, batch_sizes, self.proj_size if self.proj_size > 0 else self.hidden_size)

    def check_hidden_size(self, hx, expected_hidden_size, msg="Expected hidden size {}, got {}"):
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input, hidden, batch_sizes):
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        return _permuted(hx, permutation)

    def _zeros(self, input, batch, width):
        layers = self.num_layers * self._directions()
        return torch.zeros(layers, batch, width, dtype=input.dtype, device=input.device)

    def _initial_state(self, input, batch):
        return self._zeros(input, batch, self.hidden_size)

    def _batched_state(self, hx, is_batched):
        """A given state with a batch dimension."""
        if is_batched:
            if hx.dim() != 3:
                raise RuntimeError(f"For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor")
            return hx
        if hx.dim() != 2:
            raise RuntimeError(f"For unbatched 2-D input, hx should also be 2-D but got {hx.dim()}-D tensor")
        return hx.unsqueeze(1)

    def _unbatched_state(self, hidden):
        return hidden.squeeze(1)

    def _run(self, *args):
        """The operator's output and state."""
        name = {"RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu", "GRU": "gru"}[self.mode]
        output, hidden = getattr(_C._VariableFunctions, name)(*args)
        return output, hidden

    def forward(self, input, hx=None):
        options = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if _is_packed(input):
            packed = input
            input, batch_sizes, sorted_indices, unsorted_indices = packed
            if hx is None:
                hx = self._initial_state(input, batch_sizes[0])
            else:
                hx = self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(input, hx, batch_sizes)
            output, hidden = self._run(input, batch_sizes, hx, self._flat_weights, *options)
            output = type(packed)(output, batch_sizes, sorted_indices, unsorted_indices)
            return output, self.permute_hidden(hidden, unsorted_indices)
        if input.dim() not in (2, 3):
            tensor = " tensor" if self.mode.startswith("RNN") else ""
            raise ValueError(
                f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D{tensor} instead"
            )
        is_batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if not is_batched:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            hx = self._initial_state(input, input.size(0) if self.batch_first else input.size(1))
        else:
            hx = self._batched_state(hx, is_batched)
        self.check_forward_args(input, hx, None)
        output, hidden = self._run(input, hx, self._flat_weights, *options, self.batch_first)
        if not is_batched:
            output, hidden = output.squeeze(batch_dim), self._unbatched_state(hidden)
        return output, hidden

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text


def _no_projection(kwargs):
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """Elman's network, with tanh or ReLU."""

    def __init__(self, *args, **kwargs):
        _no_projection(kwargs)
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_" + nonlinearity.upper(), *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory; its state is a pair."""

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input, batch_sizes):
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input, hidden, batch_sizes):
        self.check_input(input, batch_sizes)
        expected = (
            self.get_expected_hidden_size(input, batch_sizes),
            self.get_expected_cell_size(input, batch_sizes),
        )
        for place, size in enumerate(expected):
            self.check_hidden_size(hidden[place], size, f"Expected hidden[{place}] size {{}}, got {{}}")

    def permute_hidden(self, hx, permutation):
        if permutation is None:
            return hx
        return _permuted(hx[0], permutation), _permuted(hx[1], permutation)

    def _initial_state(self, input, batch):
        hidden = self._zeros(input, batch, self.proj_size if self.proj_size > 0 else self.hidden_size)
        return hidden, self._zeros(input, batch, self.hidden_size)

    def _batched_state(self, hx, is_batched):
        ndim, kind = (3, "batched") if is_batched else (2, "unbatched")
        if hx[0].dim() != ndim or hx[1].dim() != ndim:
            raise RuntimeError(
                f"For {kind} {ndim}-D input, hx and cx should also be {ndim}-D but got ({hx[0].dim()}-D, {hx[1].dim()}-D) "
                "tensors"
            )
        return hx if is_batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))

    def _unbatched_state(self, hidden):
        return hidden[0].squeeze(1), hidden[1].squeeze(1)

    def _run(self, *args):
        result = _C._VariableFunctions.lstm(*args)
        return result[0], result[1:]


class GRU(RNNBase):
    """Gated recurrent units."""

    def __init__(self, *args, **kwargs):
        _no_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """What the cells share."""

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        factory_kwargs = {"device": device, "dtype": dtype}
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        width = num_chunks * hidden_size
        self.weight_ih = Parameter(torch.empty((width, input_size), **factory_kwargs))
        self.weight_hh = Parameter(torch.empty((width, hidden_size), **factory_kwargs))
        if bias:
            self.bias_ih = Parameter(torch.empty(width, **factory_kwargs))
            self.bias_hh = Parameter(torch.empty(width, **factory_kwargs))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.__dict__.get("nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def reset_parameters(self):
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _weights(self):
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _check_dims(self, name, tensor):
        if tensor.dim() not in (1, 2):
            raise ValueError(f"{self._get_name()}: Expected {name} to be 1D or 2D, got {tensor.dim()}D instead")

    def _zeros(self, input):
        return torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)

    def _step(self, cell, input, hx):
        """One step of a cell whose state is one tensor."""
        self._check_dims("input", input)
        if hx is not None:
            self._check_dims("hidden", hx)
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = self._zeros(input)
        elif not is_batched:
            hx = hx.unsqueeze(0)
        result = cell(input, hx, *self._weights())
        return result if is_batched else result.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of an `RNN`."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(getattr(_C._VariableFunctions, f"rnn_{self.nonlinearity}_cell"), input, hx)


class LSTMCell(RNNCellBase):
    """One step of an `LSTM`."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input, hx=None):
        self._check_dims("input", input)
        for place, value in enumerate(() if hx is None else hx):
            self._check_dims(f"hx[{place}]", value)
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = self._zeros(input)
            hx = (zeros, zeros)
        elif not is_batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        hidden, cell = _C._VariableFunctions.lstm_cell(input, hx, *self._weights())
        return (hidden, cell) if is_batched else (hidden.squeeze(0), cell.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a `GRU`."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input, hx=None):
        return self._step(_C._VariableFunctions.gru_cell, input, hx)
