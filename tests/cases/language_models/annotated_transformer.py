# Seq2seq transformer w/ masks, beam search, label smoothing KLDiv, Noam schedule - "annotated transformer" style
import torch, torch.nn as nn, math, copy, time
from torch.nn.functional import log_softmax, pad
from torch.optim.lr_scheduler import LambdaLR
torch.manual_seed(0)
def clones(m, N): return nn.ModuleList([copy.deepcopy(m) for _ in range(N)])
class LayerNorm(nn.Module):
    def __init__(self, f, eps=1e-6): super().__init__(); self.a_2, self.b_2, self.eps = nn.Parameter(torch.ones(f)), nn.Parameter(torch.zeros(f)), eps
    def forward(self, x):
        mean = x.mean(-1, keepdim=True); std = x.std(-1, keepdim=True)
        return self.a_2 * (x - mean) / (std + self.eps) + self.b_2
class Sub(nn.Module):
    def __init__(self, size, dropout): super().__init__(); self.norm, self.dropout = LayerNorm(size), nn.Dropout(dropout)
    def forward(self, x, sublayer): return x + self.dropout(sublayer(self.norm(x)))
class EncLayer(nn.Module):
    def __init__(self, size, attn, ff, dropout): super().__init__(); self.self_attn, self.feed_forward, self.sublayer, self.size = attn, ff, clones(Sub(size, dropout), 2), size
    def forward(self, x, mask):
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, mask))
        return self.sublayer[1](x, self.feed_forward)
class DecLayer(nn.Module):
    def __init__(self, size, attn, src, ff, dropout): super().__init__(); self.size, self.self_attn, self.src_attn, self.feed_forward, self.sublayer = size, attn, src, ff, clones(Sub(size, dropout), 3)
    def forward(self, x, memory, src_mask, tgt_mask):
        m = memory
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, tgt_mask))
        x = self.sublayer[1](x, lambda x: self.src_attn(x, m, m, src_mask))
        return self.sublayer[2](x, self.feed_forward)
class Stack(nn.Module):
    def __init__(self, layer, N): super().__init__(); self.layers, self.norm = clones(layer, N), LayerNorm(layer.size)
    def forward(self, x, *args):
        for layer in self.layers: x = layer(x, *args)
        return self.norm(x)
def subsequent_mask(size): return torch.triu(torch.ones((1, size, size)), diagonal=1).type(torch.uint8) == 0
def attention(q, k, v, mask=None, dropout=None):
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    if mask is not None: scores = scores.masked_fill(mask == 0, -1e9)
    p = scores.softmax(dim=-1)
    if dropout is not None: p = dropout(p)
    return torch.matmul(p, v), p
class MHA(nn.Module):
    def __init__(self, h, d, dropout=0.1):
        super().__init__(); assert d % h == 0
        self.d_k, self.h, self.linears, self.attn, self.dropout = d // h, h, clones(nn.Linear(d, d), 4), None, nn.Dropout(p=dropout)
    def forward(self, query, key, value, mask=None):
        if mask is not None: mask = mask.unsqueeze(1)
        n = query.size(0)
        query, key, value = [lin(x).view(n, -1, self.h, self.d_k).transpose(1, 2) for lin, x in zip(self.linears, (query, key, value))]
        x, self.attn = attention(query, key, value, mask=mask, dropout=self.dropout)
        x = x.transpose(1, 2).contiguous().view(n, -1, self.h * self.d_k)
        del query, key, value
        return self.linears[-1](x)
class FF(nn.Module):
    def __init__(self, d, f, dropout=0.1): super().__init__(); self.w_1, self.w_2, self.dropout = nn.Linear(d, f), nn.Linear(f, d), nn.Dropout(dropout)
    def forward(self, x): return self.w_2(self.dropout(self.w_1(x).relu()))
class Emb(nn.Module):
    def __init__(self, d, v): super().__init__(); self.lut, self.d = nn.Embedding(v, d), d
    def forward(self, x): return self.lut(x) * math.sqrt(self.d)
class PE(nn.Module):
    def __init__(self, d, dropout, max_len=50):
        super().__init__(); self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d); pos = torch.arange(0, max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d, 2) * -(math.log(10000.0) / d))
        pe[:, 0::2] = torch.sin(pos * div); pe[:, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe.unsqueeze(0))
    def forward(self, x): return self.dropout(x + self.pe[:, : x.size(1)].requires_grad_(False))
class EncoderDecoder(nn.Module):
    def __init__(self, enc, dec, se, te, gen): super().__init__(); self.encoder, self.decoder, self.src_embed, self.tgt_embed, self.generator = enc, dec, se, te, gen
    def forward(self, src, tgt, sm, tm): return self.decode(self.encode(src, sm), sm, tgt, tm)
    def encode(self, src, sm): return self.encoder(self.src_embed(src), sm)
    def decode(self, memory, sm, tgt, tm): return self.decoder(self.tgt_embed(tgt), memory, sm, tm)
class Generator(nn.Module):
    def __init__(self, d, v): super().__init__(); self.proj = nn.Linear(d, v)
    def forward(self, x): return log_softmax(self.proj(x), dim=-1)
def make_model(sv, tv, N=2, d=16, f=32, h=2, dropout=0.0):
    c = copy.deepcopy; attn, ff, pos = MHA(h, d, dropout), FF(d, f, dropout), PE(d, dropout)
    m = EncoderDecoder(Stack(EncLayer(d, c(attn), c(ff), dropout), N), Stack(DecLayer(d, c(attn), c(attn), c(ff), dropout), N), nn.Sequential(Emb(d, sv), c(pos)), nn.Sequential(Emb(d, tv), c(pos)), Generator(d, tv))
    for p in m.parameters():
        if p.dim() > 1: nn.init.xavier_uniform_(p)
    return m
class Batch:
    def __init__(self, src, tgt=None, pad=2):
        self.src, self.src_mask = src, (src != pad).unsqueeze(-2)
        if tgt is not None:
            self.tgt, self.tgt_y = tgt[:, :-1], tgt[:, 1:]
            self.tgt_mask = self.make_std_mask(self.tgt, pad); self.ntokens = (self.tgt_y != pad).data.sum()
    @staticmethod
    def make_std_mask(tgt, pad):
        m = (tgt != pad).unsqueeze(-2)
        return m & subsequent_mask(tgt.size(-1)).type_as(m.data)
class LabelSmoothing(nn.Module):
    def __init__(self, size, padding_idx, smoothing=0.0): super().__init__(); self.criterion, self.padding_idx, self.confidence, self.smoothing, self.size, self.true_dist = nn.KLDivLoss(reduction="sum"), padding_idx, 1.0 - smoothing, smoothing, size, None
    def forward(self, x, target):
        assert x.size(1) == self.size
        t = x.data.clone(); t.fill_(self.smoothing / (self.size - 2)); t.scatter_(1, target.data.unsqueeze(1), self.confidence)
        t[:, self.padding_idx] = 0
        mask = torch.nonzero(target.data == self.padding_idx)
        if mask.dim() > 0: t.index_fill_(0, mask.squeeze(), 0.0)
        self.true_dist = t
        return self.criterion(x, t.clone().detach())
V = 11
crit = LabelSmoothing(V, 0, 0.1); model = make_model(V, V)
fast = torch.compile(model)
opt = torch.optim.Adam(model.parameters(), lr=0.5, betas=(0.9, 0.98), eps=1e-9)
sched = LambdaLR(opt, lambda s: 16 ** -0.5 * min(max(s, 1) ** -0.5, max(s, 1) * 10 ** -1.5))
for i in range(4):
    data = torch.randint(1, V, (4, 7)); data[:, 0] = 1
    b = Batch(data, data, 0)
    out = fast(b.src, b.tgt, b.src_mask, b.tgt_mask)
    loss = crit(model.generator(out).view(-1, V), b.tgt_y.reshape(-1)) / b.ntokens
    loss.backward(); opt.step(); opt.zero_grad(set_to_none=True); sched.step()
    print(i, f"{loss.item():.4f}", f"{opt.param_groups[0]['lr']:.5f}", int(b.ntokens))
def greedy(model, src, mask, n, start):
    memory = model.encode(src, mask); ys = torch.zeros(1, 1).fill_(start).type_as(src.data)
    for i in range(n - 1):
        out = model.decode(memory, mask, ys, subsequent_mask(ys.size(1)).type_as(src.data))
        _, nxt = torch.max(model.generator(out[:, -1]), dim=1)
        ys = torch.cat([ys, torch.zeros(1, 1).type_as(src.data).fill_(nxt.data[0])], dim=1)
    return ys
model.eval(); print(greedy(model, torch.arange(1, 8).view(1, 7), torch.ones(1, 1, 7), 6, 1).shape, model.decoder.layers[0].self_attn.attn.shape)
