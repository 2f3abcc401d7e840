"""Memory formats: what `to` copies, what modules become, ambiguous ones."""

import torch
import torch.nn as nn

net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv2d(8, 16, 1), nn.Linear(2, 2)).to(memory_format=torch.channels_last)
print([p.stride() for p in net.parameters()])
print(nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last, dtype=torch.float64).weight.stride())
x = torch.randn(2, 8, 1, 1)
for t in (x, x.to(memory_format=torch.channels_last), torch.randn(2, 8, 4, 4), torch.randn(2, 4, 4, 8).permute(0, 3, 1, 2)):
    print(t.stride(), t.to(memory_format=torch.channels_last).stride(), t.to(memory_format=torch.contiguous_format).stride())
    print(t.contiguous(memory_format=torch.channels_last).stride(), t.clone(memory_format=torch.channels_last).stride())
    print(t.to(None, None, False, memory_format=torch.channels_last).stride(), t.to(None, None) is t, t.to(None, None, False, True) is t)
y = torch.randn(3, 4).t()
print(y.to(memory_format=torch.contiguous_format) is y, y.contiguous().stride())
