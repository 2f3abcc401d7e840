import copy
import math
import random
from collections import deque, namedtuple
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, TransformedDistribution, TanhTransform, Independent, kl_divergence, Bernoulli


@dataclass(frozen=True)
class Config:
    gamma: float = 0.99
    tau: float = 0.05
    batch_size: int = 8
    noise: float = 0.1
    hidden: int = 16


class Transition(NamedTuple):
    state: torch.Tensor
    action: torch.Tensor
    reward: float
    next_state: torch.Tensor
    done: bool


class ReplayBuffer:
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        batch = Transition(*zip(*random.sample(self.memory, batch_size)))
        return (torch.stack(batch.state), torch.stack(batch.action), torch.tensor(batch.reward).unsqueeze(1),
                torch.stack(batch.next_state), torch.tensor(batch.done, dtype=torch.float32).unsqueeze(1))

    def __len__(self):
        return len(self.memory)


class Pendulum:
    def reset(self):
        self.th, self.thdot = random.uniform(-math.pi, math.pi), random.uniform(-1, 1)
        return self.obs()

    def obs(self):
        return torch.tensor([math.cos(self.th), math.sin(self.th), self.thdot])

    def step(self, u):
        u = max(-2.0, min(2.0, u))
        norm = ((self.th + math.pi) % (2 * math.pi)) - math.pi
        cost = norm**2 + 0.1 * self.thdot**2 + 0.001 * u**2
        self.thdot = max(-8.0, min(8.0, self.thdot + (15 * math.sin(self.th) + 3 * u) * 0.05))
        self.th += self.thdot * 0.05
        return self.obs(), -cost, False


class Actor(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, 1), nn.Tanh())

    def forward(self, s):
        return 2.0 * self.net(s)


class Critic(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(4, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, 1))
        self.q2 = nn.Sequential(nn.Linear(4, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, 1))

    def forward(self, s, a):
        sa = torch.cat([s, a], dim=-1)
        return self.q1(sa), self.q2(sa)


@torch.no_grad()
def soft_update(target, source, tau):
    for tp, p in zip(target.parameters(), source.parameters()):
        tp.lerp_(p, tau)


def main():
    random.seed(0)
    torch.manual_seed(0)
    cfg = Config()
    actor, critic = Actor(cfg), Critic(cfg)
    actor_t, critic_t = copy.deepcopy(actor), copy.deepcopy(critic)
    opt_a = torch.optim.Adam(actor.parameters(), lr=1e-3)
    opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3)
    buffer = ReplayBuffer(64)
    env = Pendulum()

    @torch.compile
    def critic_loss(s, a, r, s2, d):
        with torch.no_grad():
            a2 = actor_t(s2)
            noise = (torch.randn_like(a2) * 0.2).clamp(-0.5, 0.5)
            a2 = (a2 + noise).clamp(-2, 2)
            q = torch.min(*critic_t(s2, a2))
            target = r + cfg.gamma * (1 - d) * q
        q1, q2 = critic(s, a)
        return F.mse_loss(q1, target) + F.mse_loss(q2, target)

    @torch.compile
    def actor_loss(s):
        return -critic(s, actor(s))[0].mean()

    for episode in range(2):
        s, total = env.reset(), 0.0
        for t in range(12):
            with torch.no_grad():
                a = (actor(s) + cfg.noise * torch.randn(1)).clamp(-2, 2)
            s2, r, done = env.step(a.item())
            buffer.push(s, a, r, s2, done)
            s, total = s2, total + r
            if len(buffer) >= cfg.batch_size and t % 4 == 0:
                batch = buffer.sample(cfg.batch_size)
                lc = critic_loss(*batch)
                opt_c.zero_grad()
                lc.backward()
                opt_c.step()
                la = actor_loss(batch[0])
                opt_a.zero_grad()
                la.backward()
                opt_a.step()
                soft_update(actor_t, actor, cfg.tau)
                soft_update(critic_t, critic, cfg.tau)
                print(f"ep {episode} t {t} critic {lc.item():.4f} actor {la.item():.4f}")
        print(f"episode {episode} return {total:.3f}")

    base = Independent(Normal(torch.zeros(3, 2), torch.ones(3, 2)), 1)
    squashed = TransformedDistribution(Normal(torch.zeros(2), torch.ones(2)), [TanhTransform(cache_size=1)])
    act = squashed.rsample()
    print(base.batch_shape, base.event_shape, squashed.log_prob(act).sum().item().__format__(".4f"))
    print(kl_divergence(Normal(0.0, 1.0), Normal(1.0, 2.0)), Bernoulli(logits=torch.tensor([0.3, -1.0])).entropy())
    print(cfg, Transition(s, a, 0.0, s2, False)._fields)


if __name__ == "__main__":
    main()
