import torch

leaf = torch.arange(24.).div(24).requires_grad_()
base = leaf.clone()
a0 = torch.linspace(0, 1, 12).view(3, 4).requires_grad_()
a1 = leaf.view(2, 3, 4)[1].clone()

def f(a0, a1):
    v0 = a1.transpose(0, 1)
    v1 = a0.detach()
    v2 = a0 + 0.5
    v0.copy_(v0)
    v3, v4 = a0.split([1, 3], 1)
    v5 = v3.view_as(v3)
    v6 = v1.t()
    return v5, a0, a0 * 3,

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
