import torch

leaf = torch.arange(24.).div(24).requires_grad_()
base = leaf.clone()
a0 = base[6:18].view(3, 4)
a1 = base[0:12].view(3, 4)
a2 = base[0:12].view(3, 4)

def f(a0, a1, a2):
    a2.copy_(a2)
    v0 = a2.sin()
    v1 = a1.unbind(0)[2]
    a2.fill_(2)
    v2 = a0 * a0
    v3 = v2.view_as(v2)
    v4 = a1.detach()
    v5 = a2.unbind(0)[2]
    return v3, a0,

outs = torch.compile(f)(a0, a1, a2)
print([(o.requires_grad, o.is_leaf) for o in outs])
print([any(o is a for a in (a0, a1, a2,)) for o in outs])
for t in (*outs, a0, a1, a2):
    print(t.detach().mul(64).round().tolist())
wanted = [o.sum() for o in outs if o.requires_grad]
if wanted:
    sum(wanted).backward()
for t in (leaf, a0, a1, a2):
    if t.is_leaf and t.grad is not None:
        print('grad', t.grad.mul(64).round().tolist())
with torch.no_grad():
    outs[0].detach().add_(1)
for t in (*outs, a0, a1, a2):
    print(t.detach().mul(64).round().tolist())
