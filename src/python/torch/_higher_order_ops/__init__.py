"""Operators that take functions."""

from torch._higher_order_ops.cond import cond
