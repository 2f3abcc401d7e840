import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class FakeQuant(nn.Module):
    def __init__(self, bits=8, momentum=0.1):
        super().__init__()
        self.qmin, self.qmax = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        self.register_buffer("scale", torch.tensor(1.0))
        self.momentum = momentum

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                new = x.abs().max() / self.qmax
                self.scale.mul_(1 - self.momentum).add_(self.momentum * new)
        q = RoundSTE.apply(x / self.scale).clamp(self.qmin, self.qmax)
        return q * self.scale


class QLinear(nn.Linear):
    def __init__(self, *args, bits=4, **kwargs):
        super().__init__(*args, **kwargs)
        self.wq, self.aq = FakeQuant(bits), FakeQuant(8)

    def forward(self, x):
        return F.linear(self.aq(x), self.wq(self.weight), self.bias)

    def extra_repr(self):
        return super().extra_repr() + f", bits={self.wq.qmax.bit_length() + 1}"


class BitLinear(nn.Linear):
    def forward(self, x):
        w = self.weight
        scale = w.abs().mean().clamp(min=1e-5)
        wq = (w / scale).round().clamp(-1, 1) * scale
        return F.linear(x, w + (wq - w).detach(), self.bias)


class LoRALinear(nn.Module):
    def __init__(self, base, r=2, alpha=4, dropout=0.0):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        self.A = nn.Parameter(torch.empty(r, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.scaling = alpha / r
        self.dropout = nn.Dropout(dropout)
        self.merged = False

    def forward(self, x):
        out = self.base(x)
        if not self.merged:
            out = out + (self.dropout(x) @ self.A.T @ self.B.T) * self.scaling
        return out

    @torch.no_grad()
    def merge(self):
        self.base.weight += self.B @ self.A * self.scaling
        self.merged = True


class SwitchFFN(nn.Module):
    """Top-1 routing with a load-balancing loss; dense dispatch by one-hot."""

    def __init__(self, dim, n_experts=3):
        super().__init__()
        self.router = nn.Linear(dim, n_experts, bias=False)
        self.w1 = nn.Parameter(torch.randn(n_experts, dim, 2 * dim) / math.sqrt(dim))
        self.w2 = nn.Parameter(torch.randn(n_experts, 2 * dim, dim) / math.sqrt(2 * dim))
        self.n = n_experts

    def forward(self, x):
        shape = x.shape
        x = x.reshape(-1, shape[-1])
        probs = self.router(x).softmax(-1)
        gate, idx = probs.max(-1)
        mask = F.one_hot(idx, self.n).type_as(x)
        aux = self.n * (mask.mean(0) * probs.mean(0)).sum()
        h = torch.einsum("te,td,edf->etf", mask, x, self.w1).relu()
        out = torch.einsum("etf,efd,te->td", h, self.w2, mask) * gate.unsqueeze(-1)
        return out.view(shape), aux


class NoisyTopK(nn.Module):
    def __init__(self, dim, n=4, k=2):
        super().__init__()
        self.k = k
        self.gate, self.noise = nn.Linear(dim, n), nn.Linear(dim, n)
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(n))

    def forward(self, x):
        logits = self.gate(x)
        if self.training:
            logits = logits + torch.randn_like(logits) * F.softplus(self.noise(x))
        top, idx = logits.topk(self.k, dim=-1)
        sparse = torch.full_like(logits, float("-inf")).scatter(-1, idx, top)
        weights = F.softmax(sparse, dim=-1)
        return sum(weights[..., i : i + 1] * e(x) for i, e in enumerate(self.experts)), idx


torch.manual_seed(8)
net = nn.Sequential(QLinear(6, 8), nn.ReLU(), BitLinear(8, 4), QLinear(4, 2, bits=8))
print(net)
run = torch.compile(net)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x, y = torch.randn(8, 6), torch.randint(0, 2, (8,))
for step in range(3):
    loss = F.cross_entropy(run(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"qat {step} {loss.item():.4f} scale {net[0].wq.scale.item():.5f}")
net.eval()
with torch.no_grad():
    print("levels", torch.unique(torch.round(net[0].wq(net[0].weight) / net[0].wq.scale)).numel() <= 16, run(x).shape)

base = nn.Linear(6, 5)
lora = LoRALinear(base)
fast = torch.compile(lora)
opt = torch.optim.SGD([p for p in lora.parameters() if p.requires_grad], lr=0.5)
for step in range(3):
    loss = fast(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"lora {step} {loss.item():.5f}")
before = lora(x)
lora.merge()
print("merged equal", torch.allclose(before, lora(x), atol=1e-5), sum(p.numel() for p in lora.parameters() if p.requires_grad))

for cls in (SwitchFFN, NoisyTopK):
    moe = cls(6)
    moe_c = torch.compile(moe)
    out, extra = moe_c(x.view(2, 4, 6))
    loss = out.pow(2).mean() + (0.01 * extra if cls is SwitchFFN else 0)
    loss.backward()
    print(cls.__name__, out.shape, f"{loss.item():.4f}", [f"{p.grad.norm():.4f}" for p in list(moe.parameters())[:2]])
    if cls is NoisyTopK:
        print(extra.shape, torch.bincount(extra.flatten(), minlength=4).sum().item())
