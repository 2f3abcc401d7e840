"""Tensors without values, a default device for a block, and what Python 3.11 says of classes and mappings."""

import warnings
from abc import ABC, abstractmethod
from types import MappingProxyType

import torch
import torch.nn as nn


class Base(nn.Module, ABC):
    @abstractmethod
    def encode(self, x): ...

    @abstractmethod
    def decode(self, x): ...


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 3)
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x):
        return self.norm(self.lin(x)) * self.scale


torch.manual_seed(0)
state = Net().state_dict()
before = torch.get_rng_state()
with torch.device("meta"):
    net = Net()
    print(torch.zeros(2), torch.tensor([1.0]).is_meta, torch.get_default_device())
print(torch.equal(before, torch.get_rng_state()), torch.zeros(1).device)
print(net.lin.weight, net.norm.running_mean.is_meta)
try:
    net.lin.weight.cpu()
except NotImplementedError as e:
    print(e)
empty = net.to_empty(device="cpu")
print(empty.lin.weight.device, empty.lin.weight.shape)
with torch.device("meta"):
    net = Net()
print(net.load_state_dict(state, assign=True))
print(torch.compile(net)(torch.tensor([[1.0, 2.0], [0.0, 1.0]])))
with torch.device("cpu"), torch.device("meta"):
    a = torch.ones(2, 3)
    print((a @ a.T).shape, torch.empty_like(a, device="cpu").device, torch.randn(2).sum())
torch.set_default_device("meta")
print(torch.arange(3))
torch.set_default_device(None)
print(torch.arange(3))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torch.tensor(torch.ones(1))
    print([str(w.message)[:40] for w in caught])
try:
    Base()
except TypeError as e:
    print(e)
print(MappingProxyType({"k": 1}), repr(MappingProxyType({})))
