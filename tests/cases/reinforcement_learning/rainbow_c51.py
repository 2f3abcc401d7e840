"""Rainbow-style DQN: C51 head, noisy layers, dueling, prioritized replay with a sum tree, n-step returns, on a tiny chain MDP."""
import math
import random
from collections import deque, namedtuple
from typing import Deque, Dict, List, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.nn.utils import clip_grad_norm_

seed = 777
random.seed(seed)
torch.manual_seed(seed)

Transition = namedtuple("Transition", ("state", "action", "reward", "next_state", "done"))


class SumTree:
    def __init__(self, capacity):
        self.capacity = capacity
        self.tree = [0.0] * (2 * capacity - 1)
        self.data = [None] * capacity
        self.write = 0
        self.n_entries = 0

    def _propagate(self, idx, change):
        parent = (idx - 1) // 2
        self.tree[parent] += change
        if parent != 0:
            self._propagate(parent, change)

    def _retrieve(self, idx, s):
        left, right = 2 * idx + 1, 2 * idx + 2
        if left >= len(self.tree):
            return idx
        if s <= self.tree[left]:
            return self._retrieve(left, s)
        return self._retrieve(right, s - self.tree[left])

    @property
    def total(self):
        return self.tree[0]

    def add(self, p, data):
        idx = self.write + self.capacity - 1
        self.data[self.write] = data
        self.update(idx, p)
        self.write = (self.write + 1) % self.capacity
        self.n_entries = min(self.n_entries + 1, self.capacity)

    def update(self, idx, p):
        change = p - self.tree[idx]
        self.tree[idx] = p
        self._propagate(idx, change)

    def get(self, s):
        idx = self._retrieve(0, s)
        return idx, self.tree[idx], self.data[idx - self.capacity + 1]


class PrioritizedReplay:
    def __init__(self, capacity, alpha=0.6, beta=0.4, n_step=3, gamma=0.99):
        self.tree = SumTree(capacity)
        self.alpha, self.beta, self.gamma = alpha, beta, gamma
        self.n_step_buffer: Deque[Transition] = deque(maxlen=n_step)
        self.n_step = n_step

    def push(self, *args):
        self.n_step_buffer.append(Transition(*args))
        if len(self.n_step_buffer) < self.n_step:
            return
        reward, next_state, done = self.n_step_buffer[-1][-3:]
        for t in reversed(list(self.n_step_buffer)[:-1]):
            reward = t.reward + self.gamma * reward * (1 - t.done)
            next_state, done = (t.next_state, t.done) if t.done else (next_state, done)
        s, a = self.n_step_buffer[0][:2]
        self.tree.add((1.0 + 1e-5) ** self.alpha, Transition(s, a, reward, next_state, done))

    def sample(self, batch_size):
        idxs, batch, priorities = [], [], []
        segment = self.tree.total / batch_size
        for i in range(batch_size):
            s = random.uniform(segment * i, segment * (i + 1))
            idx, p, data = self.tree.get(s)
            idxs.append(idx); batch.append(data); priorities.append(p)
        probs = torch.tensor(priorities) / self.tree.total
        weights = (self.tree.n_entries * probs) ** -self.beta
        weights /= weights.max()
        return idxs, Transition(*zip(*batch)), weights


class NoisyLinear(nn.Module):
    def __init__(self, in_features, out_features, std_init=0.5):
        super().__init__()
        self.in_features, self.out_features, self.std_init = in_features, out_features, std_init
        self.weight_mu = nn.Parameter(torch.Tensor(out_features, in_features))
        self.weight_sigma = nn.Parameter(torch.Tensor(out_features, in_features))
        self.register_buffer("weight_epsilon", torch.Tensor(out_features, in_features))
        self.bias_mu = nn.Parameter(torch.Tensor(out_features))
        self.bias_sigma = nn.Parameter(torch.Tensor(out_features))
        self.register_buffer("bias_epsilon", torch.Tensor(out_features))
        self.reset_parameters()
        self.reset_noise()

    def reset_parameters(self):
        mu_range = 1 / math.sqrt(self.in_features)
        self.weight_mu.data.uniform_(-mu_range, mu_range)
        self.weight_sigma.data.fill_(self.std_init / math.sqrt(self.in_features))
        self.bias_mu.data.uniform_(-mu_range, mu_range)
        self.bias_sigma.data.fill_(self.std_init / math.sqrt(self.out_features))

    def reset_noise(self):
        epsilon_in = self.scale_noise(self.in_features)
        epsilon_out = self.scale_noise(self.out_features)
        self.weight_epsilon.copy_(epsilon_out.ger(epsilon_in))
        self.bias_epsilon.copy_(epsilon_out)

    def forward(self, x):
        if self.training:
            return F.linear(x, self.weight_mu + self.weight_sigma * self.weight_epsilon, self.bias_mu + self.bias_sigma * self.bias_epsilon)
        return F.linear(x, self.weight_mu, self.bias_mu)

    @staticmethod
    def scale_noise(size):
        x = torch.randn(size)
        return x.sign().mul(x.abs().sqrt())


class Network(nn.Module):
    def __init__(self, in_dim, out_dim, atom_size, support):
        super().__init__()
        self.support, self.out_dim, self.atom_size = support, out_dim, atom_size
        self.feature_layer = nn.Sequential(nn.Linear(in_dim, 32), nn.ReLU())
        self.advantage_hidden_layer = NoisyLinear(32, 32)
        self.advantage_layer = NoisyLinear(32, out_dim * atom_size)
        self.value_hidden_layer = NoisyLinear(32, 32)
        self.value_layer = NoisyLinear(32, atom_size)

    def forward(self, x):
        return torch.sum(self.dist(x) * self.support, dim=2)

    def dist(self, x):
        feature = self.feature_layer(x)
        adv = self.advantage_layer(F.relu(self.advantage_hidden_layer(feature))).view(-1, self.out_dim, self.atom_size)
        val = self.value_layer(F.relu(self.value_hidden_layer(feature))).view(-1, 1, self.atom_size)
        q_atoms = val + adv - adv.mean(dim=1, keepdim=True)
        return F.softmax(q_atoms, dim=-1).clamp(min=1e-3)

    def reset_noise(self):
        for name, module in self.named_children():
            if isinstance(module, NoisyLinear):
                module.reset_noise()


N, v_min, v_max, atoms, gamma = 6, 0.0, 4.0, 21, 0.95
support = torch.linspace(v_min, v_max, atoms)
dqn, dqn_target = Network(N, 2, atoms, support), Network(N, 2, atoms, support)
dqn_target.load_state_dict(dqn.state_dict())
dqn_target.eval()
optimizer = optim.Adam(dqn.parameters(), lr=1e-3)
memory = PrioritizedReplay(256, gamma=gamma)


@torch.compile
def dqn_loss(state, action, reward, next_state, done):
    delta_z = float(v_max - v_min) / (atoms - 1)
    with torch.no_grad():
        next_action = dqn(next_state).argmax(1)
        next_dist = dqn_target.dist(next_state)
        next_dist = next_dist[range(16), next_action]
        t_z = (reward + (1 - done) * gamma ** 3 * support).clamp(min=v_min, max=v_max)
        b = (t_z - v_min) / delta_z
        l, u = b.floor().long(), b.ceil().long()
        offset = torch.linspace(0, (16 - 1) * atoms, 16).long().unsqueeze(1).expand(16, atoms)
        proj_dist = torch.zeros(next_dist.size())
        proj_dist.view(-1).index_add_(0, (l + offset).view(-1), (next_dist * (u.float() - b)).view(-1))
        proj_dist.view(-1).index_add_(0, (u + offset).view(-1), (next_dist * (b - l.float())).view(-1))
    dist = dqn.dist(state)
    log_p = torch.log(dist[range(16), action])
    return -(proj_dist * log_p).sum(1)


def one_hot(i):
    v = [0.0] * N
    v[i] = 1.0
    return v


state, losses, returns, score = 2, [], [], 0.0
for frame in range(1, 161):
    action = int(dqn(torch.FloatTensor([one_hot(state)])).argmax().detach().item())
    nxt = max(0, min(N - 1, state + (1 if action else -1)))
    done = float(nxt in (0, N - 1))
    reward = 1.0 if nxt == N - 1 else -0.01
    memory.push(one_hot(state), action, reward, one_hot(nxt), done)
    score += reward
    state = random.randrange(1, N - 1) if done else nxt
    if done:
        returns.append(score)
        score = 0.0
    if memory.tree.n_entries >= 32 and frame % 8 == 0:
        idxs, batch, weights = memory.sample(16)
        elementwise = dqn_loss(torch.FloatTensor(batch.state), torch.LongTensor(batch.action),
                               torch.FloatTensor(batch.reward).reshape(-1, 1), torch.FloatTensor(batch.next_state),
                               torch.FloatTensor(batch.done).reshape(-1, 1))
        loss = torch.mean(elementwise * weights)
        optimizer.zero_grad()
        loss.backward()
        norm = clip_grad_norm_(dqn.parameters(), 10.0)
        optimizer.step()
        for i, p in zip(idxs, elementwise.detach().tolist()):
            memory.tree.update(i, (abs(p) + 1e-6) ** 0.6)
        dqn.reset_noise()
        dqn_target.reset_noise()
        losses.append(loss.item())
        if frame % 40 == 0:
            dqn_target.load_state_dict(dqn.state_dict())
            print(f"frame {frame:4d} loss {losses[-1]:.4f} |g| {norm:.3f} total priority {memory.tree.total:.3f} episodes {len(returns)}")
dqn.eval()
with torch.no_grad():
    q = dqn(torch.eye(N))
print("Q values:\n", q)
print("greedy:", "".join("LR"[a] for a in q.argmax(1).tolist()))
print(f"params: {sum(p.numel() for p in dqn.parameters()):,}  mean loss {sum(losses) / len(losses):.5f}")
