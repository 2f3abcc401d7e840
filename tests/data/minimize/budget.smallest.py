import torch
import torch._functorch.config as fc
with fc.patch(activation_memory_budget=1.5):
    torch.compile(torch.sin)(torch.ones(1, requires_grad=True))
