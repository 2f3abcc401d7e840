# A view of a tensor whose size only a run knows: that the size is a multiple of what it is divided by is checked by the graph, where the
# size becomes known.
import torch


def marked(x):
    torch._dynamo.decorators.mark_unbacked(x, 0)
    return x


def reshaped(x):
    return x.reshape(-1, 2).sum(1) * x.shape[0]


def viewed(x):
    y = x + 1
    return y.view(-1, 2).sum(1)


for function in (reshaped, viewed):
    compiled = torch.compile(function, fullgraph=True)
    print(compiled(marked(torch.arange(8.0))))
    print(compiled(torch.arange(6.0)))


class Listed(torch.nn.Module):
    def forward(self, x):
        n = x.item()
        return torch.ones(n).view(-1, 4) + x


program = torch.export.export(Listed(), (torch.tensor(8),))
print(program.graph_module.code.strip())
print(program.module()(torch.tensor(4)))
try:
    program.module()(torch.tensor(6))
except RuntimeError as e:
    print(e)
