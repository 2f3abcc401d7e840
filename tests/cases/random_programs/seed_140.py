import torch

leaf = torch.arange(24.).div(24)
base = leaf.clone()
a0 = base[0:12].view(3, 4)
a1 = base[12:24].view(3, 4)

def f(a0, a1):
    v0, v1 = a0.split([1, 3], 1)
    v2 = a1.reshape(-1)
    with torch.no_grad():
        v2.zero_()
    v3 = v1.sin()
    v4 = v1 + 0.5
    v5, v6 = a0.split([1, 3], 1)
    with torch.no_grad():
        v0[0] = 0.5
    v7, v8 = v4.split([1, 2], 1)
    return v5, v3, v0,

outs = torch.compile(f)(a0, a1)
print([(o.requires_grad, o.is_leaf) for o in outs])
print([any(o is a for a in (a0, a1,)) for o in outs])
for t in (*outs, a0, a1):
    print(t.detach().mul(64).round().tolist())
wanted = [o.sum() for o in outs if o.requires_grad]
if wanted:
    sum(wanted).backward()
for t in (leaf, a0, a1):
    if t.is_leaf and t.grad is not None:
        print('grad', t.grad.mul(64).round().tolist())
with torch.no_grad():
    outs[0].detach().add_(1)
for t in (*outs, a0, a1):
    print(t.detach().mul(64).round().tolist())
