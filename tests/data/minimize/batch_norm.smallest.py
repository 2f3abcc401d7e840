import torch
torch.compile(torch.nn.BatchNorm2d(1))(torch.ones(2, 1, 1, 1))
