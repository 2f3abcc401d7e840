import torch
from torch.export import export, Dim

class A(torch.nn.Module):
    def forward(self, x, y):
        if x.shape[0] == 4:
            return x + y
        return x - y

x, y = torch.randn(4, 3), torch.randn(4, 3)
b = Dim("b")
for shapes in ({"x": {0: b}, "y": {0: b}}, {"x": {0: Dim.AUTO}, "y": {0: Dim.AUTO}}, {"x": {0: Dim.DYNAMIC}, "y": {0: Dim.DYNAMIC}}, ({0: b}, None)):
    try:
        ep = export(A(), (x, y), dynamic_shapes=shapes)
        print(ep)
    except Exception as e:
        print(type(e).__name__)
        print(e)

class Bq(torch.nn.Module):
    def forward(self, x, y):
        return x + y
for shapes in ({"x": {0: Dim("p")}, "y": {0: Dim("q")}}, {"x": {0: Dim.AUTO}, "y": {0: Dim.AUTO}}, {"x": {0: b}}, {"x": {0: b}, "y": {0: b}, "z": None}):
    try:
        ep = export(Bq(), (x, y), dynamic_shapes=shapes)
        print(ep)
    except Exception as e:
        print(type(e).__name__)
        print(e)

class C(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x.sin()
        return x.cos()
try:
    export(C(), (x,))
except Exception as e:
    print(type(e).__name__)
    print(str(e)[:400])
class D(torch.nn.Module):
    def forward(self, x):
        n = x.shape[0]
        return x.view(n // 2, 2, 3) + torch.ones(n // 2, 1, 1) * n
ep = export(D(), (x,), dynamic_shapes=({0: 2 * Dim("half", min=1, max=10)},))
print(ep)
