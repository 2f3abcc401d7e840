import torch

leaf = torch.arange(24.).div(24)
base = leaf.clone()
a0 = torch.arange(12.).view(3, 4)
a1 = torch.linspace(0, 1, 12).view(3, 4).requires_grad_()
a2 = leaf.view(2, 3, 4)[0].clone()

def f(a0, a1, a2):
    v0 = a1.sin()
    a0.fill_(0.5)
    v1 = a0.detach()
    v2 = a0.view_as(a0)
    v3 = a1.narrow(1, 0, 3)
    v4 = a0.view_as(a0)
    a0.zero_()
    return v4 * 3, v3, v2,

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
