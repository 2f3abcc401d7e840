"""What was a tensor is none in the code after a graph break: the guard that fails is that of its type."""

import torch


class Net(torch.nn.Module):
    def forward(self, x, image=None):
        torch._dynamo.graph_break()
        out = x * (x + 1)
        return out if image is None else torch.nn.functional.mse_loss(out, image)


net = torch.compile(Net())
net(torch.ones(2), torch.ones(2))
net(torch.ones(2))


@torch.compile
def f(x, y=None):
    torch._dynamo.graph_break()
    out = x.sin()
    if y is None:
        return out
    return out + y


f(torch.ones(2), torch.ones(2))
f(torch.ones(2))
