import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
class MoE(nn.Module):
    def __init__(self, d=4, e=3, h=6):
        super().__init__()
        self.gate = nn.Linear(d, e, bias=False)
        self.w1 = nn.Parameter(torch.randn(e, d, h) * 0.1)
        self.w2 = nn.Parameter(torch.randn(e, h, d) * 0.1)
    def forward(self, x):
        p = F.softmax(self.gate(x), -1)
        w, i = p.topk(2, -1)
        w = w / w.sum(-1, keepdim=True)
        mask = F.one_hot(i, 3).to(x.dtype)
        comb = (w.unsqueeze(-1) * mask).sum(-2)
        h = F.silu(torch.einsum("btd,edh->bteh", x, self.w1))
        y = torch.einsum("bteh,ehd->bted", h, self.w2)
        aux = (p.mean((0, 1)) * mask.amax(-2).mean((0, 1))).sum() * 3
        return torch.einsum("bted,bte->btd", y, comb), aux
m = MoE()
f = torch.compile(m)
x = torch.randn(2, 3, 4, requires_grad=True)
y, aux = f(x)
(y.pow(2).sum() + aux).backward()
print(aux, [p.grad.norm().round(decimals=4).item() for p in m.parameters()])
