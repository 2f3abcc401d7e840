import torch

leaf = torch.arange(24.).div(24).requires_grad_()
base = leaf.clone()
a0 = leaf.view(2, 3, 4)[0].clone()
a1 = torch.linspace(0, 1, 12).view(3, 4).requires_grad_()
a2 = torch.arange(12.).view(3, 4)

def f(a0, a1, a2):
    v0 = a2.unbind(0)[1]
    with torch.no_grad():
        v0.zero_()
    v1 = v0.unsqueeze(0)
    v2 = a1.diagonal()
    v3 = v2.view(-1)
    a0.fill_(2)
    with torch.no_grad():
        v0[0] = -1
    return v0, a0 * 3,

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
