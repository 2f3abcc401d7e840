"""`cond` and `map` under the names that they had first."""

from torch._higher_order_ops.cond import cond
from torch._higher_order_ops.map import map
