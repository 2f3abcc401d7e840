import torch
class C(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x.sin()
        return x.cos()
try:
    torch.export.export(C(), (torch.ones(3),))
except Exception as e:
    print(type(e).__name__)
    print("\n".join(str(e).split("\n")[:3]))
class D(torch.nn.Module):
    def forward(self, x, y):
        n = y.item()
        if n > 3:
            return x + n
        return x
try:
    torch.export.export(D(), (torch.ones(3), torch.tensor(4)))
except Exception as e:
    print(type(e).__name__)
    print("\n".join(str(e).split("\n")[:3]))
