import torch
from torch.export import Dim, export

# A comparison of sizes is a calculation that nobody reads: it takes a name.


class Trimmed(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] > 4 and x.shape[1] * 2 > 3:
            x = x[:4]
        return x.sum() * 2 > 0, x + 1


class Compared(torch.nn.Module):
    def forward(self, x):
        n = x.shape[0] * 2
        if n == 12:
            x = x + 1
        assert x.shape[0] >= 7
        return x.mul(n), x.eq(1), x.ge(2), x.lt(3)


class Checked(torch.nn.Module):
    def forward(self, x):
        for i in range(x.shape[1]):
            x = x + i
        torch._check(x.shape[0] >= 5)
        return x.ge(1), x.ge(2)


b = Dim("b", min=7, max=11)
for m in (Trimmed(), Compared(), Checked()):
    ep = export(m, (torch.ones(7, 2),), dynamic_shapes=({0: b},))
    print(ep.graph_module.code)
