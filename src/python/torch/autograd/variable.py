"""`Variable`, of old: a tensor."""

from torch import Tensor as Variable
