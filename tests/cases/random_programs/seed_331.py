import torch

leaf = torch.arange(24.).div(24)
base = leaf.clone()
a0 = leaf.view(2, 3, 4)[0].clone()

def f(a0):
    v0 = a0.unbind(0)[2]
    with torch.no_grad():
        v0.zero_()
    v1 = v0.view_as(v0)
    with torch.no_grad():
        v0.add_(v1)
    v2 = v1.detach()
    v3 = v1.detach()
    v4 = a0.view_as(a0)
    v5, v6 = a0.split([1, 3], 1)
    with torch.no_grad():
        v2[0] = 2
    return a0, a0,

outs = torch.compile(f)(a0)
print([(o.requires_grad, o.is_leaf) for o in outs])
print([any(o is a for a in (a0,)) for o in outs])
for t in (*outs, a0):
    print(t.detach().mul(64).round().tolist())
wanted = [o.sum() for o in outs if o.requires_grad]
if wanted:
    sum(wanted).backward()
for t in (leaf, a0):
    if t.is_leaf and t.grad is not None:
        print('grad', t.grad.mul(64).round().tolist())
with torch.no_grad():
    outs[0].detach().add_(1)
for t in (*outs, a0):
    print(t.detach().mul(64).round().tolist())
