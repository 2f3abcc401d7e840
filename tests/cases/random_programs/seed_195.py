import torch

leaf = torch.arange(24.).div(24).requires_grad_()
base = leaf.clone()
a0 = base[12:24].view(3, 4)

def f(a0):
    a0[0] = 0.5
    v0 = a0[:, 3]
    with torch.no_grad():
        v1 = a0 * a0
    v2 = v1.detach()
    with torch.no_grad():
        v0.add_(v0)
    v3 = v1.unsqueeze(-1).squeeze(-1)
    v4 = v2.transpose(0, 1)
    v5 = v4.t()
    v6 = v4.unbind(0)[0]
    return v0,

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
