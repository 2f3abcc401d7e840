# keep: exception
import torch
from torch import nn


class Router(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Linear(d, d)
        self.b = nn.Linear(d, d)
        self.shift = nn.Parameter(torch.zeros(d))

    def forward(self, x, level):
        def hot(t):
            def inner_yes(u):
                v = u.clone()
                v.mul_(2.0)
                return v

            def inner_no(u):
                return u.sin()
            return torch.cond(level > 1, inner_yes, inner_no, (self.a(t),)) + self.shift

        def cold(t):
            y = self.b(t)
            y[:, 0] = 0.0
            return y.tanh()
        out = torch.cond(x.sum() > 0, hot, cold, (x,))
        return out.mean()


torch.manual_seed(0)
m = Router(3)
step = torch.compile(m, fullgraph=True)
for x in (torch.ones(2, 3), -torch.ones(2, 3)):
    for lv in (0, 2):
        m.zero_grad()
        l = step(x, torch.tensor(lv))
        l.backward()
        print(f"{l.item():.5f}", {n: round(p.grad.abs().sum().item(), 4) for n, p in m.named_parameters() if p.grad is not None})


@torch.compile(fullgraph=True)
def pick(i, x):
    return torch.cond(i == 0, lambda t: (t + 1, t.sum()), lambda t: (t - 1,), (x,))


print(pick(torch.tensor(0), torch.arange(3.0)), pick(torch.tensor(1), torch.arange(3.0)))
print(torch.cond(True, lambda t: t * 3, lambda t: t, (torch.ones(2),)))
