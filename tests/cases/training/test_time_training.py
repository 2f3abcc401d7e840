"""Test-time training layers (TTT-linear) and Titans-like memory: inner gradient steps inside of forward."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap


class LinearFastWeight(nn.Module):
    def __init__(self, dim, heads, lr=0.5):
        super().__init__()
        self.heads = heads
        self.W0 = nn.Parameter(torch.randn(heads, dim // heads, dim // heads) * 0.1)
        self.b0 = nn.Parameter(torch.zeros(heads, 1, dim // heads))
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.lr_gate = nn.Linear(dim, heads)
        self.ln = nn.LayerNorm(dim // heads)
        self.out = nn.Linear(dim, dim)
        self.base_lr = lr

    def forward(self, x, chunk=4):
        B, T, D = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        k, q = F.normalize(k, dim=-1), F.normalize(q, dim=-1)
        eta = torch.sigmoid(self.lr_gate(x)).transpose(1, 2).unsqueeze(-1) * self.base_lr / chunk
        W = self.W0.expand(B, -1, -1, -1)
        b = self.b0.expand(B, -1, -1, -1)
        outs = []
        for i in range(0, T, chunk):
            qc, kc, vc, ec = (t[:, :, i:i + chunk] for t in (q, k, v, eta))
            pred = kc @ W + b
            err = pred - (vc - kc)
            dW = (ec * kc).transpose(-1, -2) @ err
            db = (ec * err).sum(2, keepdim=True)
            attn = torch.tril(qc @ kc.transpose(-1, -2))
            o = qc @ W - attn @ (ec * err) + b - torch.cumsum(ec * err, dim=2)
            outs.append(qc + self.ln(o))
            W = W - dW
            b = b - db
        y = torch.cat(outs, dim=2).transpose(1, 2).reshape(B, T, D)
        return self.out(y)


class NeuralMemory(nn.Module):
    """A two-layer memory whose weights are updated by the gradient of its own loss."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.memory = nn.Sequential(nn.Linear(dim, hidden), nn.SiLU(), nn.Linear(hidden, dim))
        self.to_kv = nn.Linear(dim, 2 * dim)
        self.to_q = nn.Linear(dim, dim)
        self.decay = nn.Parameter(torch.tensor(0.05))

        def loss_fn(params, k, v, w):
            pred = functional_call(self.memory, params, (k,))
            return (w * (pred - v).pow(2).mean(-1)).sum()

        self.per_sample_grad = vmap(grad(loss_fn), in_dims=(0, 0, 0, 0))

    def init_state(self, batch):
        params = {n: p.unsqueeze(0).expand(batch, *p.shape) for n, p in self.memory.named_parameters()}
        return params, {n: torch.zeros_like(p) for n, p in params.items()}

    def forward(self, x, state):
        params, momentum = state
        k, v = self.to_kv(x).chunk(2, dim=-1)
        w = torch.full(k.shape[:2], 0.1)
        surprise = self.per_sample_grad(params, k, v, w)
        momentum = {n: 0.9 * m - surprise[n] for n, m in momentum.items()}
        params = {n: (1 - self.decay) * p + momentum[n] for n, p in params.items()}
        read = vmap(lambda p, q: functional_call(self.memory, p, (q,)))(params, self.to_q(x))
        return read, (params, momentum)


torch.manual_seed(11)
ttt = LinearFastWeight(16, 2)
head = nn.Linear(16, 12)
emb = nn.Embedding(12, 16)
params = [*ttt.parameters(), *head.parameters(), *emb.parameters()]
opt = torch.optim.AdamW(params, lr=5e-3)


@torch.compile(backend="aot_eager")
def step(tokens):
    h = emb(tokens[:, :-1])
    h = h + ttt(h)
    return F.cross_entropy(head(h).flatten(0, 1), tokens[:, 1:].flatten())


tokens = torch.arange(17).remainder(12).repeat(3, 1) + torch.tensor([[0], [3], [5]])
tokens = tokens % 12
for i in range(4):
    loss = step(tokens)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    print(f"ttt {i}: {loss.item():.4f}")
print({n: round(p.grad.norm().item(), 3) for n, p in ttt.named_parameters()})

mem = NeuralMemory(8, 12)
opt = torch.optim.SGD(mem.parameters(), lr=0.1)
seq = torch.randn(2, 12, 8)
for i in range(3):
    state = mem.init_state(2)
    total = 0.0
    for chunk in seq.split(4, dim=1):
        out, state = mem(chunk, state)
        total = total + F.mse_loss(out, chunk)
    opt.zero_grad()
    total.backward()
    opt.step()
    print(f"memory {i}: {total.item():.4f}")
print({n: tuple(p.shape) for n, p in state[0].items()})
