import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(4 * 4 * 4, 10)
        self.register_buffer("scale", torch.tensor(2.0), persistent=False)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn(self.conv(x))))
        x = torch.flatten(x, 1)
        return self.fc(x) * self.scale

torch.manual_seed(0)
m = Net()
ep = torch.export.export(m, (torch.randn(2, 3, 8, 8),))
print(ep)
dec = ep.run_decompositions()
print(dec)
print(dec.graph_signature)
print(dec.graph_signature.buffers_to_mutate)
for k, v in ep.state_dict.items():
    print(k, tuple(v.shape))
print([n for n, _ in ep.named_parameters()], [n for n, _ in ep.named_buffers()])
print(ep.constants.keys())
try:
    ep.module()(torch.randn(3, 3, 8, 8))
except Exception as e:
    print(type(e).__name__, str(e)[:300])
m.eval()
ep = torch.export.export(m, (torch.randn(2, 3, 8, 8),))
print(ep.graph)
print(ep.graph_module.code)
