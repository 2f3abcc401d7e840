import torch
class Box: pass
box = Box(); log = []; table = {}
@torch.compile
def f(x, out):
    a = x + 1; b = x * 2; c = x - 3
    out.append(c)
    table["b"] = b
    box.a = a
    log.append(a * b)
    return b.sum(), c
o = []
for i in range(2): f(torch.ones(2), o); print(len(o), len(log), sorted(table), box.a)
@torch.compile
def g(x, d, l):
    d["p"] = x.sin(); l[0] = x.cos(); d.update(q=x.tan()); l.extend([x.exp(), x.log()])
    return x
d, l = {}, [None]
g(torch.ones(2), d, l); g(torch.ones(2), d, l); print(sorted(d), len(l))
