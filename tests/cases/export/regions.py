import torch
class A(torch.nn.Module):
    def forward(self, x):
        y = x.sin()
        a, b = y.chunk(2)
        with torch.no_grad():
            z = y * 2
            w = z + 1
        u = z + w + a.sum()
        c, d = u.chunk(2)
        with torch.no_grad():
            v = u.cos()
        return v, c, d, a
print(torch.export.export(A(), (torch.ones(4),)))
class B(torch.nn.Module):
    @torch.no_grad()
    def f(self, x):
        return x.cos()
    def forward(self, x):
        y = self.f(x)
        return x + y
print(torch.export.export(B(), (torch.ones(4),)))
class C(torch.nn.Module):
    def forward(self, x):
        y = x.detach()
        return x + y
ep = torch.export.export(C(), (torch.ones(4),))
print(ep)
print(ep.run_decompositions({}))
with torch.no_grad():
    print(torch.export.export(B(), (torch.ones(4),)))
class D(torch.nn.Module):
    def forward(self, x, y):
        z = x.sin()
        unused = x.cos()
        n = x.shape[0] + y.shape[0]
        k = torch.cat([x, y])
        m = k.shape[0]
        return k.view(m, 1) * n, z.reshape(-1), k.repeat(2, 1)
dyn = {"x": {0: torch.export.Dim("a")}, "y": {0: torch.export.Dim.AUTO}}
print(torch.export.export(D(), (torch.ones(4, 1), torch.ones(6, 1)), dynamic_shapes=dyn))
class E(torch.nn.Module):
    def forward(self, x, y):
        n = y.item()
        torch._check(n >= 2)
        torch._check(n <= 10)
        return x[:n], torch.zeros(n)
print(torch.export.export(E(), (torch.ones(12), torch.tensor(5))))
