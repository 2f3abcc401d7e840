import torch
torch.compile(torch.nn.LayerNorm(1))(torch.ones(1))
