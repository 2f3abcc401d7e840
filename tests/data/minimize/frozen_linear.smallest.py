import torch
torch.compile(torch.relu)(torch.ones(1))
