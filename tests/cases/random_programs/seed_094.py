import torch

leaf = torch.arange(24.).div(24).requires_grad_()
base = leaf.clone()
a0 = base[6:18].view(3, 4)
a1 = base[6:18].view(3, 4)

def f(a0, a1):
    v0 = a0.t()
    v1 = a1.reshape(-1)
    a0.zero_()
    v2 = a1 * a1
    v3 = v0.diagonal()
    v4 = a0.view_as(a0)
    v5 = v0.detach()
    a0.fill_(-1)
    with torch.no_grad():
        v1.copy_(v1)
    return a1,

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
