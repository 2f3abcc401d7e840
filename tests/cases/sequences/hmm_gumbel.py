"""Discrete structure: a hidden Markov model by the forward algorithm, Viterbi and Baum-Welch, and categorical relaxations."""
import itertools
import math
from collections import Counter

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical, OneHotCategoricalStraightThrough, RelaxedBernoulli, RelaxedOneHotCategorical

torch.manual_seed(2)


class HMM(nn.Module):
    def __init__(self, states, symbols):
        super().__init__()
        self.N, self.M = states, symbols
        self.unnormalized_T = nn.Parameter(torch.randn(states, states))
        self.unnormalized_E = nn.Parameter(torch.randn(states, symbols))
        self.unnormalized_prior = nn.Parameter(torch.randn(states))

    @property
    def log_tables(self):
        return F.log_softmax(self.unnormalized_prior, 0), F.log_softmax(self.unnormalized_T, 1), F.log_softmax(self.unnormalized_E, 1)

    def forward(self, x, T):
        prior, trans, emit = self.log_tables
        alpha = prior + emit[:, x[:, 0]].t()
        alphas = [alpha]
        for t in range(1, x.shape[1]):
            alpha = torch.logsumexp(alpha.unsqueeze(2) + trans, dim=1) + emit[:, x[:, t]].t()
            alphas.append(alpha)
        log_sums = torch.stack([a.logsumexp(1) for a in alphas], 1)
        return torch.gather(log_sums, 1, T.view(-1, 1) - 1).squeeze(1)

    @torch.no_grad()
    def viterbi(self, x):
        prior, trans, emit = self.log_tables
        delta, psi = prior + emit[:, x[0]], []
        for symbol in x[1:]:
            best, arg = (delta.unsqueeze(1) + trans).max(0)
            delta = best + emit[:, symbol]
            psi.append(arg)
        path = [delta.argmax().item()]
        for arg in reversed(psi):
            path.append(arg[path[-1]].item())
        return path[::-1], delta.max().item()

    @torch.no_grad()
    def sample(self, n):
        prior, trans, emit = self.log_tables
        z = Categorical(logits=prior).sample()
        xs = []
        for _ in range(n):
            xs.append(Categorical(logits=emit[z]).sample().item())
            z = Categorical(logits=trans[z]).sample()
        return xs

    @torch.no_grad()
    def baum_welch(self, x):
        prior, trans, emit = (t.exp() for t in self.log_tables)
        alpha, beta = [prior * emit[:, x[0]]], [torch.ones(self.N)]
        for s in x[1:]:
            alpha.append((alpha[-1] @ trans) * emit[:, s])
        for s in reversed(x[1:]):
            beta.insert(0, trans @ (emit[:, s] * beta[0]))
        alpha, beta = torch.stack(alpha), torch.stack(beta)
        gamma = alpha * beta
        gamma /= gamma.sum(1, keepdim=True)
        xi = alpha[:-1, :, None] * trans * (emit[:, x[1:]].t() * beta[1:])[:, None]
        xi = (xi / xi.sum((1, 2), keepdim=True)).sum(0)
        one_hot = F.one_hot(torch.tensor(x), self.M).float()
        self.unnormalized_prior.copy_(gamma[0].log())
        self.unnormalized_T.copy_((xi / xi.sum(1, keepdim=True)).log())
        self.unnormalized_E.copy_(((gamma.t() @ one_hot) / gamma.sum(0)[:, None] + 1e-6).log())
        return alpha[-1].sum().log().item()


hmm = HMM(3, 4)
x = torch.tensor([[0, 1, 2, 3, 0, 1], [3, 2, 1, 0, 0, 0], [0, 0, 1, 2, 2, 2]])
T = torch.tensor([6, 4, 5])
fwd = torch.compile(hmm)
opt = torch.optim.Adam(hmm.parameters(), lr=0.05)
for step in range(4):
    nll = -fwd(x, T).mean()
    opt.zero_grad()
    nll.backward()
    opt.step()
    print(f"hmm {step} nll {nll.item():.4f}")
print(hmm.viterbi(x[0]), hmm.sample(8))
brute = torch.logsumexp(torch.stack([
    hmm.log_tables[0][z[0]] + hmm.log_tables[2][z[0], 0] + sum(hmm.log_tables[1][a, b] + hmm.log_tables[2][b, s] for a, b, s in zip(z, z[1:], (1, 2)))
    for z in itertools.product(range(3), repeat=3)]), 0)
print(torch.allclose(brute, hmm(x[:1, :3], torch.tensor([3]))[0]))
seq = hmm.sample(12)
print(seq, Counter(seq).most_common(2), [round(hmm.baum_welch(seq), 4) for _ in range(3)])


class DiscreteVAE(nn.Module):
    def __init__(self, d=12, latents=3, classes=4):
        super().__init__()
        self.latents, self.classes = latents, classes
        self.enc = nn.Sequential(nn.Linear(d, 24), nn.ReLU(), nn.Linear(24, latents * classes))
        self.dec = nn.Sequential(nn.Linear(latents * classes, 24), nn.ReLU(), nn.Linear(24, d))

    def forward(self, x, temperature):
        logits = self.enc(x).view(-1, self.latents, self.classes)
        z = F.gumbel_softmax(logits, tau=temperature, hard=False)
        recon = self.dec(z.flatten(1))
        log_q = F.log_softmax(logits, -1)
        kl = (log_q.exp() * (log_q + math.log(self.classes))).sum((1, 2)).mean()
        return F.binary_cross_entropy_with_logits(recon, x, reduction="sum") / x.shape[0], kl


data = (torch.rand(16, 12) > 0.6).float()
vae = DiscreteVAE()
opt = torch.optim.AdamW(vae.parameters(), lr=1e-2)
elbo = torch.compile(vae)
for step in range(4):
    rec, kl = elbo(data, max(0.5, math.exp(-0.3 * step)))
    opt.zero_grad()
    (rec + kl).backward()
    opt.step()
    print(f"dvae {step} rec {rec.item():.4f} kl {kl.item():.4f}")
tau = torch.tensor(0.5)
logits = torch.randn(5, requires_grad=True)
relaxed = RelaxedOneHotCategorical(tau, logits=logits)
s = relaxed.rsample((2,))
(s * torch.arange(5)).sum().backward()
print(relaxed, s.sum(-1), logits.grad.abs().sum() > 0, f"{relaxed.log_prob(s.detach()).sum().item():.4f}")
bern = RelaxedBernoulli(tau, probs=torch.tensor([0.2, 0.7]))
b = bern.rsample()
print(bern, b, f"{bern.log_prob(b).sum().item():.4f}")
st = OneHotCategoricalStraightThrough(logits=logits)
print(st.rsample().shape, st.mode.argmax().item(), f"{st.entropy().item():.4f}")
hard = F.gumbel_softmax(logits.expand(4, 5), tau=0.3, hard=True)
print(hard.sum(1).tolist(), hard.detach().argmax(1).tolist())
