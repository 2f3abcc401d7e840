import torch
from torch._higher_order_ops.while_loop import while_loop
torch.compile(lambda x: while_loop(lambda i: i < 1, lambda i: (i + 1,), (x,)))(torch.tensor(0))
