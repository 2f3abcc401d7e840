"""`functorch.experimental`: control flow as functions."""

from functorch.experimental import control_flow
