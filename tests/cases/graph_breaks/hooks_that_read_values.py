"""Hooks on every layer that keep a number of what it gives, in two calls."""
import torch, torch.nn as nn
torch.manual_seed(0)
acts = {}
def get(name):
    def hook(mod, inp, out):
        acts[name] = out.detach().mean().item()
    return hook
net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Sequential(nn.Linear(4, 3), nn.ReLU()), nn.Linear(3, 1))
for n, m in net.named_modules():
    if isinstance(m, nn.Linear):
        m.register_forward_hook(get(n))
c = torch.compile(net)
for i in range(2):
    y = c(torch.ones(2, 4) * i)
    print({k: round(v, 4) for k, v in acts.items()}, y.sum().item())
