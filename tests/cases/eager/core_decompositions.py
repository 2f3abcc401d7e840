"""Rules of ATen's core that the default backend has not."""

import torch
from torch._decomp import core_aten_decompositions
from torch.fx.experimental.proxy_tensor import make_fx

table = core_aten_decompositions()


def show(f, *args):
    print(make_fx(f, decomposition_table=table)(*args).code)


backward = torch.ops.aten._softmax_backward_data
show(lambda x: (torch.zeros_like(x), torch.ones_like(x), torch.ones_like(x, dtype=torch.int64), torch.zeros_like(x, dtype=torch.bool)), torch.ones(3))
show(lambda x: torch.ones_like(x, memory_format=torch.contiguous_format), torch.ones(3))
show(lambda x: backward(x, x, -1, torch.float32), torch.ones(2, 3))
show(lambda x: backward(x, x, 1, torch.float16), torch.ones(2, 3))
show(lambda x: backward(x, x, 0, torch.bfloat16), torch.ones(2, 3, dtype=torch.bfloat16))
