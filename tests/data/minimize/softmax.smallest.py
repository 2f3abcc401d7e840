import torch
torch.compile(torch.nn.Softmax(0))(torch.ones(1, requires_grad=True))
