import torch

leaf = torch.arange(24.).div(24)
base = leaf.clone()
a0 = base[12:24].view(3, 4)
a1 = base[6:18].view(3, 4)
a2 = base[12:24].view(3, 4)

def f(a0, a1, a2):
    a0[0] = 0.5
    v0 = a2 + -1
    v0.copy_(a0)
    v1 = v0.diagonal()
    a2.fill_(0.5)
    v2 = a1.detach()
    return v2 * 3, a2, a1,

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
