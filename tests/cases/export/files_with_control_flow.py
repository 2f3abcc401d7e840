"""Programs in files with graphs in graphs, gradients switched off for a while, several values of one operator, constants."""
import io

import torch


def again(ep):
    file = io.BytesIO()
    torch.export.save(ep, file)
    return torch.export.load(file)


class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)

    def forward(self, x):
        x = self.lin(x)
        y = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos() + 1, (x,))
        return torch.cond(y.sum() > 100, lambda a, b: (a + b, a - b), lambda a, b: (a * b, a * 2), (x, y))


torch.manual_seed(3)
ep = torch.export.export(Branches(), (torch.randn(2, 3),))
loaded = again(ep)
print(str(loaded) == str(ep), loaded.graph_module.true_graph_0.code)
for x in (torch.ones(2, 3), -torch.ones(2, 3)):
    print([torch.equal(a, b) for a, b in zip(ep.module()(x), loaded.module()(x))])
print([n.target for n in loaded.graph.nodes if n.op == "get_attr"])


class Regions(torch.nn.Module):
    def forward(self, x):
        with torch.no_grad():
            a = x.sin()
            b = a.cos()
        values, indices = torch.topk(x + b, 2)
        parts = torch.split(x, 2)
        mean = torch.nn.functional.layer_norm(x, [4], eps=float("1e-5"))
        return values * a[0, 0], indices, parts[1], mean, x.masked_fill(x > 0, float("-inf")), torch.tensor([1.0, 2.0]) + 1


x = torch.randn(4, 4)
ep = torch.export.export(Regions(), (x,))
loaded = again(ep)
print(loaded)
print([torch.equal(a, b) for a, b in zip(ep.module()(x), loaded.module()(x))])
decomposed = again(ep.run_decompositions())
print([torch.equal(a, b) for a, b in zip(ep.module()(x), decomposed.module()(x))])
