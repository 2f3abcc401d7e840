import torch
from torch._functorch.aot_autograd import aot_export_module
aot_export_module(torch.nn.Linear(1, 2), (torch.ones(1),), trace_joint=True, output_loss_index=0)
