import torch

leaf = torch.arange(24.).div(24)
base = leaf.clone()
a0 = torch.arange(12.).view(3, 4)
a1 = torch.linspace(0, 1, 12).view(3, 4).requires_grad_()

def f(a0, a1):
    a0.zero_()
    a0.copy_(a0)
    v0 = a0.transpose(0, 1)
    v1 = v0.detach()
    v2 = a1[1]
    v3 = v0.reshape(-1)
    v4 = a0.diagonal()
    v5 = v0.unbind(0)[1]
    with torch.no_grad():
        v5.fill_(2)
    return v1, v0, v1,

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
