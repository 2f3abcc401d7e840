"""Hooks that read a number of their gradient break the captured backward: they are frames of their own."""
import torch
import torch._dynamo.compiled_autograd as compiled_autograd

norms = []
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Softplus(), torch.nn.Linear(2, 1))
with torch.no_grad():
    for p in net.parameters():
        p.fill_(0.25)


def note(grad):
    norms.append(round(grad.norm().item(), 4))
    return grad / max(norms[-1], 1.0)


for p in net.parameters():
    p.register_hook(note)
for step in range(2):
    with compiled_autograd._enable(torch.compile(backend="aot_eager")):
        net(torch.ones(4, 2) * (step + 1)).sum().backward()
print(norms, [p.grad.sum().item() for p in net.parameters()])
