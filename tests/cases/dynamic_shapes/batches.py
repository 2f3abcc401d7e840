"""Inference over a data loader whose last batch is smaller; evaluation with a different length."""
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv1d(3, 8, 3, padding=1), nn.BatchNorm1d(8), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 4))
net.eval()
model = torch.compile(net)
data = torch.randn(19, 3, 12)
with torch.no_grad():
    outs = [model(b) for b in data.split(8)]
print(torch.cat(outs).shape, torch.cat(outs).argmax(1).tolist())
with torch.no_grad():
    print(model(torch.randn(8, 3, 20)).shape)
    print(model(torch.randn(1, 3, 20)).shape)
