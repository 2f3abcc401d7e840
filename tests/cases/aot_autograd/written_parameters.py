import torch
torch.manual_seed(0)
p = [torch.randn(3, 3), torch.randn(3)]
b = [torch.zeros_like(t) for t in p]
@torch.compile
def step(ps, bs, gs):
    for p, m, g in zip(ps, bs, gs):
        m.mul_(0.9).add_(g)
        p.add_(m, alpha=-0.1)
step(p, b, [torch.ones_like(t) for t in p])
step(p, b, [torch.ones_like(t) for t in p])
print(p, b)
