from dataclasses import dataclass
from typing import NamedTuple, cast
import torch
import torch.nn.functional as F
from torch import LongTensor, Tensor, nn


@dataclass
class Mamba2Config:
    d_model: int
    n_layer: int = 2
    d_state: int = 8
    d_conv: int = 4
    expand: int = 2
    headdim: int = 4
    chunk_size: int = 4
    vocab_size: int = 30
    pad_vocab_size_multiple: int = 16

    def __post_init__(self):
        self.d_inner = self.expand * self.d_model
        assert self.d_inner % self.headdim == 0
        self.nheads = self.d_inner // self.headdim
        if self.vocab_size % self.pad_vocab_size_multiple != 0:
            self.vocab_size += (self.pad_vocab_size_multiple - self.vocab_size % self.pad_vocab_size_multiple)


class InferenceCache(NamedTuple):
    conv_state: Tensor
    ssm_state: Tensor

    @staticmethod
    def alloc(batch_size: int, args: Mamba2Config, device=None):
        return InferenceCache(
            torch.zeros(batch_size, args.d_inner + 2 * args.d_state, args.d_conv, device=device),
            torch.zeros(batch_size, args.nheads, args.headdim, args.d_state, device=device),
        )


def segsum(x: Tensor, device=None) -> Tensor:
    T = x.size(-1)
    x = x[..., None].expand(*x.shape, T)
    mask = torch.tril(torch.ones(T, T, dtype=torch.bool, device=device), diagonal=-1)
    x = x.masked_fill(~mask, 0)
    x_segsum = torch.cumsum(x, dim=-2)
    mask = torch.tril(torch.ones(T, T, dtype=torch.bool, device=device), diagonal=0)
    x_segsum = x_segsum.masked_fill(~mask, -torch.inf)
    return x_segsum


def ssd(x, A, B, C, chunk_size, initial_states=None, device=None):
    assert x.shape[1] % chunk_size == 0
    x, A, B, C = [m.unflatten(1, (-1, chunk_size)) for m in (x, A, B, C)]
    A = A.permute(0, 3, 1, 2)
    A_cumsum = torch.cumsum(A, dim=-1)
    L = torch.exp(segsum(A, device=device))
    Y_diag = torch.einsum("bclhn, bcshn, bhcls, bcshp -> bclhp", C, B, L, x)
    decay_states = torch.exp(A_cumsum[:, :, :, -1:] - A_cumsum)
    states = torch.einsum("bclhn, bhcl, bclhp -> bchpn", B, decay_states, x)
    if initial_states is None:
        initial_states = torch.zeros_like(states[:, :1])
    states = torch.cat([initial_states, states], dim=1)
    decay_chunk = torch.exp(segsum(F.pad(A_cumsum[:, :, :, -1], (1, 0)), device=device))
    new_states = torch.einsum("bhzc, bchpn -> bzhpn", decay_chunk, states)
    states, final_state = new_states[:, :-1], new_states[:, -1]
    state_decay_out = torch.exp(A_cumsum)
    Y_off = torch.einsum("bclhn, bchpn, bhcl -> bclhp", C, states, state_decay_out)
    Y = (Y_diag + Y_off).flatten(1, 2)
    return Y, final_state


def silu(x):
    """Applies the Sigmoid Linear Unit (SiLU), element-wise."""
    return x * F.sigmoid(x)


class RMSNorm(nn.Module):
    def __init__(self, d: int, eps: float = 1e-5, device=None):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d, device=device))

    def forward(self, x, z=None):
        if z is not None:
            x = x * silu(z)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Mamba2(nn.Module):
    def __init__(self, args: Mamba2Config, device=None):
        super().__init__()
        self.args = args
        self.device = device
        d_in_proj = 2 * args.d_inner + 2 * args.d_state + args.nheads
        self.in_proj = nn.Linear(args.d_model, d_in_proj, bias=False, device=device)
        conv_dim = args.d_inner + 2 * args.d_state
        self.conv1d = nn.Conv1d(in_channels=conv_dim, out_channels=conv_dim, kernel_size=args.d_conv, groups=conv_dim, padding=args.d_conv - 1, device=device)
        self.dt_bias = nn.Parameter(torch.empty(args.nheads, device=device))
        self.A_log = nn.Parameter(torch.empty(args.nheads, device=device))
        self.D = nn.Parameter(torch.empty(args.nheads, device=device))
        nn.init.uniform_(self.dt_bias, -1, 0)
        nn.init.uniform_(self.A_log)
        nn.init.ones_(self.D)
        self.norm = RMSNorm(args.d_inner, device=device)
        self.out_proj = nn.Linear(args.d_inner, args.d_model, bias=False, device=device)

    def forward(self, u: Tensor, h: InferenceCache | None = None):
        if h:
            return self.step(u, h)
        A = -torch.exp(self.A_log)
        zxbcdt = self.in_proj(u)
        z, xBC, dt = torch.split(zxbcdt, [self.args.d_inner, self.args.d_inner + 2 * self.args.d_state, self.args.nheads], dim=-1)
        dt = F.softplus(dt + self.dt_bias)
        conv_state = F.pad(xBC.transpose(1, 2), (self.args.d_conv - u.shape[1], 0))
        xBC = silu(self.conv1d(xBC.transpose(1, 2)).transpose(1, 2)[:, : u.shape[1], :])
        x, B, C = torch.split(xBC, [self.args.d_inner, self.args.d_state, self.args.d_state], dim=-1)
        x = x.unflatten(-1, (-1, self.args.headdim))
        y, ssm_state = ssd(x * dt.unsqueeze(-1), A * dt, B.unsqueeze(2).expand(-1, -1, self.args.nheads, -1), C.unsqueeze(2).expand(-1, -1, self.args.nheads, -1), self.args.chunk_size, device=self.device)
        y = y + x * self.D.unsqueeze(-1)
        y = y.flatten(-2)
        y = self.norm(y, z)
        y = self.out_proj(y)
        h = InferenceCache(conv_state, ssm_state)
        return y, h

    def step(self, u: Tensor, h: InferenceCache):
        assert u.shape[1] == 1, "Only one token can be decoded per inference step"
        zxbcdt = self.in_proj(u.squeeze(1))
        z, xBC, dt = torch.split(zxbcdt, [self.args.d_inner, self.args.d_inner + 2 * self.args.d_state, self.args.nheads], dim=-1)
        h.conv_state.copy_(torch.roll(h.conv_state, shifts=-1, dims=-1))
        h.conv_state[:, :, -1] = xBC
        xBC = torch.sum(h.conv_state * self.conv1d.weight.squeeze(1), dim=-1)
        xBC += self.conv1d.bias
        xBC = silu(xBC)
        x, B, C = torch.split(xBC, [self.args.d_inner, self.args.d_state, self.args.d_state], dim=-1)
        A = -torch.exp(self.A_log)
        dt = F.softplus(dt + self.dt_bias)
        dA = torch.exp(dt * A)
        x = x.unflatten(-1, (-1, self.args.headdim))
        dBx = torch.einsum("bh, bn, bhp -> bhpn", dt, B, x)
        h.ssm_state.copy_(h.ssm_state * dA[:, :, None, None] + dBx)
        y = torch.einsum("bhpn, bn -> bhp", h.ssm_state, C)
        y = y + self.D[:, None] * x
        y = y.flatten(1)
        y = self.norm(y, z)
        y = self.out_proj(y)
        return y.unsqueeze(1), h


class Mamba2LMHeadModel(nn.Module):
    def __init__(self, args: Mamba2Config, device=None):
        super().__init__()
        self.args = args
        self.backbone = nn.ModuleDict(dict(
            embedding=nn.Embedding(args.vocab_size, args.d_model, device=device),
            layers=nn.ModuleList([nn.ModuleDict(dict(mixer=Mamba2(args, device=device), norm=RMSNorm(args.d_model, device=device))) for _ in range(args.n_layer)]),
            norm_f=RMSNorm(args.d_model, device=device),
        ))
        self.lm_head = nn.Linear(args.d_model, args.vocab_size, bias=False, device=device)
        self.lm_head.weight = self.backbone.embedding.weight

    def forward(self, input_ids, h=None):
        seqlen = input_ids.shape[1]
        if h is None:
            h = [None for _ in range(self.args.n_layer)]
        x = self.backbone.embedding(input_ids)
        for i, layer in enumerate(self.backbone.layers):
            y, h[i] = layer.mixer(layer.norm(x), h[i])
            x = y + x
        x = self.backbone.norm_f(x)
        logits = self.lm_head(x)
        return logits[:, :seqlen], cast(list[InferenceCache], h)


torch.manual_seed(0)
cfg = Mamba2Config(8)
print(cfg, cfg.nheads)
model = Mamba2LMHeadModel(cfg)
ids = torch.randint(0, 30, (2, 9))
opt = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=False, foreach=True)
train = torch.compile(model)
for i in range(3):
    logits, _ = train(ids[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), ids[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, f"{loss.item():.4f}")
with torch.no_grad():
    logits, h = model(ids[:, :8])
    step = torch.compile(model)
    tok = logits[:, -1].argmax(-1, keepdim=True)
    out = [tok]
    for _ in range(3):
        logits, h = step(tok, h)
        tok = logits[:, -1].argmax(-1, keepdim=True)
        out.append(tok)
print(torch.cat(out, 1), h[0].ssm_state.norm())
