import torch
torch.empty(3, device='meta') + torch.ones(4)
