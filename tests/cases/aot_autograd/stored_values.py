import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights, self.last = None, []

    def forward(self, x, mask):
        p = F.softmax(x, -1)
        p = F.dropout(p, 0.0)
        y, self.weights = p @ x, p
        z = y[:, [-1], :].contiguous()
        self.last.append(z)
        return y


model = Attention()
f = torch.compile(model)
x = torch.ones(2, 3, 3, requires_grad=True)
f(x, None).sum().backward()
print(model.weights.shape, model.last[0].shape, x.grad.shape)
