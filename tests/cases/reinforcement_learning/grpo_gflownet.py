"""Policy gradients over sequences: GRPO with a KL penalty for a tiny language model, and a GFlowNet with trajectory balance."""
import copy
import math
from dataclasses import dataclass
from itertools import product
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(0)


@dataclass(frozen=True)
class GRPOConfig:
    group_size: int = 6
    beta: float = 0.04
    epsilon: float = 0.2
    max_new_tokens: int = 5
    lr: float = 5e-3


class TinyLM(nn.Module):
    def __init__(self, vocab=8, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


@torch.no_grad()
def sample(model, prompt, n, generator):
    ids = prompt.repeat(n, 1)
    for _ in range(cfg.max_new_tokens):
        probs = F.softmax(model(ids)[:, -1], dim=-1)
        ids = torch.cat([ids, torch.multinomial(probs, 1, generator=generator)], dim=1)
    return ids


def selective_log_softmax(logits, index):
    selected = torch.gather(logits, -1, index.unsqueeze(-1)).squeeze(-1)
    return selected - torch.stack([lg.logsumexp(-1) for lg in logits])


def per_token_logps(model, ids, start):
    return selective_log_softmax(model(ids)[:, start - 1:-1], ids[:, start:])


def reward_fn(completions):
    even = (completions % 2 == 0).float().mean(-1)
    sorted_bonus = (completions[:, 1:] >= completions[:, :-1]).all(-1).float()
    return even + 0.5 * sorted_bonus


cfg = GRPOConfig()
policy = TinyLM()
reference = copy.deepcopy(policy).requires_grad_(False).eval()
optimizer = torch.optim.AdamW(policy.parameters(), lr=cfg.lr)
gen = torch.Generator().manual_seed(1)
prompt = torch.tensor([[1, 2]])


@torch.compile(backend="aot_eager")
def grpo_loss(logp, old, ref, adv):
    ratio = torch.exp(logp - old)
    clipped = torch.clamp(ratio, 1 - cfg.epsilon, 1 + cfg.epsilon)
    policy_loss = -torch.min(ratio * adv[:, None], clipped * adv[:, None])
    kl = torch.exp(ref - logp) - (ref - logp) - 1
    return (policy_loss + cfg.beta * kl).mean(), kl.mean().detach(), (ratio != clipped).float().mean()


for it in range(4):
    ids = sample(policy, prompt, cfg.group_size, gen)
    rewards = reward_fn(ids[:, 2:])
    adv = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
    with torch.no_grad():
        old, ref = (per_token_logps(m, ids, 2) for m in (policy, reference))
    for _ in range(2):
        loss, kl, clip_frac = grpo_loss(per_token_logps(policy, ids, 2), old, ref, adv)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        optimizer.step()
    print(f"grpo {it}: reward {rewards.mean():.3f} loss {loss:+.4f} kl {kl:.5f} clip {clip_frac:.2f}")


class GFlowNet(nn.Module):
    """Builds bit strings; trajectory balance."""

    def __init__(self, n):
        super().__init__()
        self.n = n
        self.pf = nn.Sequential(nn.Linear(n, 16), nn.LeakyReLU(), nn.Linear(16, 2))
        self.logZ = nn.Parameter(torch.zeros(()))

    def forward(self, count):
        state = torch.full((count, self.n), -1.0)
        total = torch.zeros(count)
        for i in range(self.n):
            dist = Categorical(logits=self.pf(state))
            action = dist.sample()
            total = total + dist.log_prob(action)
            state = torch.cat([state[:, :i], action[:, None].float(), state[:, i + 1:]], dim=1)
        return state, total


def log_reward(state):
    return torch.log1p(3 * state.sum(-1) * (state[:, 0] == state[:, -1]))


net = GFlowNet(4)
opt = torch.optim.Adam([{"params": net.pf.parameters(), "lr": 5e-3}, {"params": [net.logZ], "lr": 5e-2}])
tb = torch.compile(lambda z, lp, lr: (z + lp - lr).pow(2).mean(), backend="aot_eager")
for it in range(5):
    states, logp = net(16)
    loss = tb(net.logZ, logp, log_reward(states))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"gflownet {it}: loss {loss.item():.4f} logZ {net.logZ.item():.3f}")
everything = torch.tensor(list(product((0.0, 1.0), repeat=4)))
print("true logZ", f"{log_reward(everything).exp().sum().log().item():.4f}", math.isclose(log_reward(everything).max().item(), math.log(13), rel_tol=1e-6))
