import torch

leaf = torch.arange(24.).div(24).requires_grad_()
base = leaf.clone()
a0 = leaf.view(2, 3, 4)[1].clone()
a1 = leaf.view(2, 3, 4)[1].clone()

def f(a0, a1):
    v0 = a1[:, 3]
    with torch.no_grad():
        v1 = v0 * v0
    v2 = a1.unbind(0)[1]
    with torch.no_grad():
        v1.fill_(2)
    return a0, v1, v1,

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
