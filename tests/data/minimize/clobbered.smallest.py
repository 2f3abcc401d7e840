import torch
y = torch.ones(1, requires_grad=True).exp() + 1
z = y * y
y.add_(1)
z.backward()
