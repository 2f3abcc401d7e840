"""Decoding: beam search, nucleus sampling, repetition penalties, a key-value cache against none, and speculative decoding."""
import heapq
import math
from dataclasses import dataclass, field
from typing import List, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)
V, BOS, EOS = 24, 1, 2


class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x, cache: Optional[Tuple[torch.Tensor, torch.Tensor]] = None):
        b, t, d = x.shape
        split = lambda y: y.view(b, t, self.h, d // self.h).transpose(1, 2)
        q, k, v = split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x))
        if cache is not None:
            k = torch.cat([cache[0], k], dim=2)
            v = torch.cat([cache[1], v], dim=2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        return self.o_proj(y.transpose(1, 2).reshape(b, t, d)), (k, v)


class LM(nn.Module):
    def __init__(self, d=16, h=2, layers=2, max_len=32):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, d), nn.Embedding(max_len, d)
        self.blocks = nn.ModuleList([nn.ModuleDict({"ln1": nn.LayerNorm(d), "attn": Attention(d, h), "ln2": nn.LayerNorm(d),
                                                    "mlp": nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))}) for _ in range(layers)])
        self.ln = nn.LayerNorm(d)
        self.head = nn.Linear(d, V, bias=False)

    def forward(self, ids, past: Optional[List] = None):
        start = 0 if past is None else past[0][0].shape[2]
        x = self.tok(ids) + self.pos(torch.arange(start, start + ids.shape[1], device=ids.device))
        present = []
        for i, block in enumerate(self.blocks):
            a, kv = block["attn"](block["ln1"](x), None if past is None else past[i])
            x = x + a
            x = x + block["mlp"](block["ln2"](x))
            present.append(kv)
        return self.head(self.ln(x)), present


model, draft = LM(), LM(d=8, layers=1)
opt = torch.optim.AdamW([*model.parameters(), *draft.parameters()], lr=1e-2)
data = torch.randint(3, V, (6, 9))
data[:, 1::2] = (data[:, 0::2][:, :4] * 5 + 1) % V


@torch.compile
def lm_loss(ids):
    losses = []
    for m in (model, draft):
        logits, _ = m(ids[:, :-1])
        losses.append(F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], label_smoothing=0.05))
    return torch.stack(losses)


for step in range(5):
    losses = lm_loss(data)
    opt.zero_grad()
    losses.sum().backward()
    opt.step()
    print(f"step {step}", [round(v, 4) for v in losses.tolist()])
model.eval(), draft.eval()


@dataclass(order=True)
class Hypothesis:
    score: float
    tokens: List[int] = field(compare=False)
    past: Optional[list] = field(compare=False, default=None, repr=False)
    done: bool = field(compare=False, default=False)


@torch.no_grad()
def beam_search(prefix, beams=3, steps=5, alpha=0.6):
    logits, past = model(torch.tensor([prefix]))
    pool = [Hypothesis(0.0, list(prefix), past)]
    last = {id(pool[0]): logits[0, -1]}
    for _ in range(steps):
        candidates = []
        for hyp in pool:
            if hyp.done:
                candidates.append((hyp.score, hyp, None))
                continue
            logp = F.log_softmax(last[id(hyp)], -1)
            top = logp.topk(beams)
            for lp, tok in zip(top.values.tolist(), top.indices.tolist()):
                candidates.append((hyp.score + lp, hyp, tok))
        best = heapq.nlargest(beams, candidates, key=lambda c: c[0])
        pool, last2 = [], {}
        for score, hyp, tok in best:
            if tok is None:
                pool.append(hyp)
                continue
            logits, past = model(torch.tensor([[tok]]), hyp.past)
            new = Hypothesis(score, hyp.tokens + [tok], past, tok == EOS)
            last2[id(new)] = logits[0, -1]
            pool.append(new)
        last = last2
    norm = lambda h: h.score / ((5 + len(h.tokens)) / 6) ** alpha
    return max(pool, key=norm), [round(norm(h), 3) for h in sorted(pool, reverse=True)]


best, scores = beam_search([BOS, 5])
print(best.tokens, scores, best)


def filter_logits(logits, top_k=0, top_p=1.0, penalty=1.0, seen=()):
    logits = logits.clone()
    if penalty != 1.0 and len(seen):
        idx = torch.tensor(sorted(set(seen)))
        picked = logits[idx]
        logits[idx] = torch.where(picked < 0, picked * penalty, picked / penalty)
    if top_k:
        logits[logits < logits.topk(top_k).values[-1]] = -math.inf
    if top_p < 1.0:
        sorted_logits, order = logits.sort(descending=True)
        cumulative = sorted_logits.softmax(-1).cumsum(-1)
        remove = cumulative > top_p
        remove[1:] = remove[:-1].clone()
        remove[0] = False
        logits[order[remove]] = -math.inf
    return logits


@torch.inference_mode()
def sample(prefix, n, generator, **kw):
    ids, past, x = list(prefix), None, torch.tensor([prefix])
    for _ in range(n):
        logits, past = model(x, past)
        probs = filter_logits(logits[0, -1] / 0.9, seen=ids, **kw).softmax(-1)
        tok = torch.multinomial(probs, 1, generator=generator).item()
        ids.append(tok)
        x = torch.tensor([[tok]])
    return ids


g = torch.Generator().manual_seed(7)
print(sample([BOS, 7], 6, g, top_k=5), sample([BOS, 7], 6, g, top_p=0.8), sample([BOS, 7], 6, g, penalty=1.3))
with torch.no_grad():
    ids = torch.tensor([[BOS, 5, 9, 11, 4]])
    full, _ = model(ids)
    past, outs = None, []
    for t in range(ids.shape[1]):
        o, past = model(ids[:, t:t + 1], past)
        outs.append(o)
    print(torch.allclose(full, torch.cat(outs, 1), atol=1e-5), past[0][0].shape)


@torch.no_grad()
def speculative(prefix, n, gamma=3):
    ids, accepted, proposed = list(prefix), 0, 0
    while len(ids) < len(prefix) + n:
        q, drafted = [], list(ids)
        for _ in range(gamma):
            p = draft(torch.tensor([drafted]))[0][0, -1].softmax(-1)
            tok = torch.multinomial(p, 1, generator=g).item()
            q.append(p)
            drafted.append(tok)
        target = model(torch.tensor([drafted]))[0][0, len(ids) - 1:].softmax(-1)
        for i in range(gamma):
            tok = drafted[len(ids)]
            proposed += 1
            if torch.rand((), generator=g) < target[i][tok] / q[i][tok]:
                ids.append(tok)
                accepted += 1
            else:
                residual = (target[i] - q[i]).clamp(min=0)
                ids.append(torch.multinomial(residual / residual.sum(), 1, generator=g).item())
                break
        else:
            ids.append(torch.multinomial(target[gamma], 1, generator=g).item())
    return ids[:len(prefix) + n], accepted, proposed


print(speculative([BOS, 5], 8))
with torch.no_grad():
    nll = F.cross_entropy(model(data[:, :-1])[0].flatten(0, 1), data[:, 1:].flatten())
print(f"perplexity {nll.exp().item():.3f} bits {nll.item() / math.log(2):.3f}")
