import torch

leaf = torch.arange(24.).div(24).requires_grad_()
base = leaf.clone()
a0 = leaf.view(2, 3, 4)[1].clone()
a1 = leaf.view(2, 3, 4)[0].clone()

def f(a0, a1):
    v0 = a1.unsqueeze(-1).squeeze(-1)
    a1.copy_(v0)
    v0.zero_()
    v1, v2 = a0.split([1, 3], 1)
    v3, v4 = v2.split([1, 2], 1)
    v5 = a0 * v0
    v6 = a1.unbind(0)[0]
    v7 = v4.diagonal()
    v8 = a0.unbind(0)[0]
    return v1, v1 * 3,

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
