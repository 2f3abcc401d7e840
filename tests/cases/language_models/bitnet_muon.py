"""A BitNet-style transformer layer with ternary weights, trained by Muon for matrices and AdamW for the rest."""
import torch
from torch import nn, Tensor
import torch.nn.functional as F

torch.manual_seed(0)


def activation_quant(x: Tensor):
    scale = 127.0 / x.abs().max(dim=-1, keepdim=True).values.clamp_(min=1e-5)
    return (x * scale).round().clamp_(-128, 127) / scale


def weight_quant(w: Tensor):
    scale = w.abs().mean().clamp_(min=1e-5)
    return (w / scale).round().clamp_(-1, 1) * scale


class SimpleRMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = dim ** 0.5

    def forward(self, x):
        return F.normalize(x, dim=-1) * self.scale


class BitLinear(nn.Linear):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, bias=False, **kwargs)
        self.norm = SimpleRMSNorm(self.in_features)

    def forward(self, x: Tensor) -> Tensor:
        x_norm = self.norm(x)
        x_quant = x_norm + (activation_quant(x_norm) - x_norm).detach()
        w_quant = self.weight + (weight_quant(self.weight) - self.weight).detach()
        return F.linear(x_quant, w_quant)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = BitLinear(dim, 3 * dim), BitLinear(dim, dim)
        self.up, self.down = BitLinear(dim, 4 * dim), BitLinear(4 * dim, dim)
        self.norm = nn.RMSNorm(dim)
        self.lambdas = nn.Parameter(torch.tensor([1.0, 0.0]))

    def forward(self, x, x0):
        x = self.lambdas[0] * x + self.lambdas[1] * x0
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        q, k = F.rms_norm(q, (q.size(-1),)), F.rms_norm(k, (k.size(-1),))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.12)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.relu(self.up(self.norm(x))).square())


class Model(nn.Module):
    def __init__(self, vocab=30, dim=16, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim, 2) for _ in range(depth))
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight.data.zero_()

    def forward(self, ids):
        x = x0 = F.rms_norm(self.embed(ids), (self.embed.embedding_dim,))
        for block in self.blocks:
            x = block(x, x0)
        logits = self.head(F.rms_norm(x, (x.size(-1),)))
        return 15 * torch.tanh(logits / 15)


@torch.compile
def zeropower_via_newtonschulz5(G: Tensor, steps: int) -> Tensor:
    assert G.ndim >= 2
    a, b, c = (3.4445, -4.7750, 2.0315)
    X = G
    if G.size(-2) > G.size(-1):
        X = X.mT
    X = X / (X.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        A = X @ X.mT
        B = b * A + c * A @ A
        X = a * X + B @ X
    if G.size(-2) > G.size(-1):
        X = X.mT
    return X


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95, nesterov=True, ns_steps=5):
        super().__init__(params, dict(lr=lr, momentum=momentum, nesterov=nesterov, ns_steps=ns_steps))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                g = p.grad
                state = self.state[p]
                if "momentum_buffer" not in state:
                    state["momentum_buffer"] = torch.zeros_like(g)
                buf = state["momentum_buffer"]
                buf.lerp_(g, 1 - group["momentum"])
                g = g.lerp_(buf, group["momentum"]) if group["nesterov"] else buf
                g = zeropower_via_newtonschulz5(g, group["ns_steps"])
                p.add_(g, alpha=-group["lr"] * max(1, p.size(-2) / p.size(-1)) ** 0.5)


model = Model()
print(model.blocks[0])
hidden = [p for n, p in model.blocks.named_parameters() if p.ndim >= 2]
scalars = [p for p in model.parameters() if p.ndim < 2]
optimizers = [torch.optim.Adam([dict(params=[model.embed.weight], lr=0.03), dict(params=[model.head.weight], lr=0.01), dict(params=scalars, lr=0.004)], betas=(0.8, 0.95), eps=1e-10),
              Muon(hidden, lr=0.02)]
for opt in optimizers:
    for group in opt.param_groups:
        group["initial_lr"] = group["lr"]
ids = torch.randint(0, 30, (3, 9))
fwd = torch.compile(model)
for step in range(5):
    loss = F.cross_entropy(fwd(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    for opt in optimizers:
        for group in opt.param_groups:
            group["lr"] = group["initial_lr"] * (1 - step / 5)
    for group in optimizers[1].param_groups:
        frac = min(step / 3, 1)
        group["momentum"] = (1 - frac) * 0.85 + frac * 0.95
    for opt in optimizers:
        opt.step()
    model.zero_grad(set_to_none=True)
    print(f"step {step} loss {loss.item():.3f}")
w = model.blocks[0].up.weight.detach()
print(torch.unique((weight_quant(w) / w.abs().mean()).round()).tolist(), zeropower_via_newtonschulz5(w, 5).shape)
