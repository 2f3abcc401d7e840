import torch

leaf = torch.arange(24.).div(24)
base = leaf.clone()
a0 = leaf.view(2, 3, 4)[1].clone()
a1 = torch.linspace(0, 1, 12).view(3, 4).requires_grad_()

def f(a0, a1):
    v0 = a0.unbind(0)[0]
    v1 = a1.unsqueeze(-1).squeeze(-1)
    v2 = a1.sin()
    v3 = v1 * a1
    v4 = v2.detach()
    v3[0] = 0.5
    with torch.no_grad():
        v4[0] = -1
    v5 = a1.detach()
    return v5, v3, a0,

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
