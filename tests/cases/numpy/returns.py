# Policy gradients: discounted returns, advantages, normalization, batches of an epoch.
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical


def discount(rewards, gamma):
    out = np.zeros_like(rewards, dtype=np.float64)
    running = 0.0
    for t in reversed(range(len(rewards))):
        running = rewards[t] + gamma * running
        out[t] = running
    return out


def gae(rewards, values, last, dones, gamma=0.99, lam=0.95):
    adv, next_adv, next_value = np.zeros(len(rewards), dtype=np.float32), 0.0, last
    for t in range(len(rewards) - 1, -1, -1):
        alive = 1.0 - dones[t]
        delta = rewards[t] + gamma * next_value * alive - values[t]
        adv[t] = next_adv = delta + gamma * lam * alive * next_adv
        next_value = values[t]
    return adv, adv + values


np.random.seed(0)
torch.manual_seed(0)
rewards = np.random.uniform(size=12).astype(np.float32)
values = np.random.randn(12).astype(np.float32)
dones = (np.arange(12) % 5 == 4).astype(np.float32)
print(discount(rewards, 0.9), discount([1.0, 0, 2], 0.5))
adv, ret = gae(rewards, values, 0.3, dones)
print(adv, ret.dtype, adv.dtype)
adv = (adv - adv.mean()) / (adv.std() + 1e-8)
print(adv.mean().round(5) + 0.0, adv.std(), type(adv.std()).__name__)

policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(policy.parameters(), lr=3e-2)
states = np.random.randn(12, 3).astype(np.float32)
with torch.no_grad():
    dist = Categorical(logits=policy(torch.from_numpy(states)))
    actions = dist.sample()
    old_logp = dist.log_prob(actions)


@torch.compile(backend="eager")
def surrogate(obs, act, old, adv):
    logp = torch.log_softmax(policy(obs), -1).gather(1, act[:, None]).squeeze(1)
    ratio = torch.exp(logp - old)
    return -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()


batch = {"obs": states, "act": actions.numpy(), "old": old_logp.numpy(), "adv": adv}
for epoch in range(3):
    order = np.arange(12)
    np.random.shuffle(order)
    losses = []
    for start in range(0, 12, 4):
        rows = order[start : start + 4]
        loss = surrogate(*(torch.as_tensor(batch[k][rows]) for k in ("obs", "act", "old", "adv")))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        opt.step()
        losses.append(loss.item())
    print(epoch, order, np.round(losses, 4), f"{np.mean(losses):.4f}")


class RunningStat:
    def __init__(self, shape):
        self.n, self.mean, self.m2 = 0, np.zeros(shape), np.zeros(shape)

    def push(self, x):
        self.n += 1
        delta = x - self.mean
        self.mean += delta / self.n
        self.m2 += delta * (x - self.mean)


stat = RunningStat(3)
for s in states:
    stat.push(s)
print(np.allclose(stat.mean, states.mean(0)), stat.mean, np.sqrt(stat.m2 / stat.n))
