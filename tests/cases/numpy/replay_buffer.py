# A replay buffer of arrays, an environment on a grid, and Q-learning from sampled batches.
import numpy as np
import torch
from torch import nn


class ReplayBuffer:
    def __init__(self, capacity, obs_dim, seed=0):
        self.obs = np.zeros((capacity, obs_dim), dtype=np.float32)
        self.next_obs = np.zeros((capacity, obs_dim), dtype=np.float32)
        self.actions = np.zeros(capacity, dtype=np.int64)
        self.rewards = np.zeros(capacity, dtype=np.float32)
        self.dones = np.zeros(capacity, dtype=bool)
        self.capacity, self.size, self.ptr = capacity, 0, 0
        self.rng = np.random.default_rng(seed)

    def add(self, obs, action, reward, next_obs, done):
        i = self.ptr
        self.obs[i], self.actions[i], self.rewards[i], self.next_obs[i], self.dones[i] = obs, action, reward, next_obs, done
        self.ptr = (self.ptr + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def sample(self, batch_size):
        idx = self.rng.integers(0, self.size, size=batch_size)
        return (
            torch.as_tensor(self.obs[idx]),
            torch.as_tensor(self.actions[idx]),
            torch.as_tensor(self.rewards[idx]),
            torch.as_tensor(self.next_obs[idx]),
            torch.as_tensor(self.dones[idx], dtype=torch.float32),
        )


class Line:
    def reset(self):
        self.x = np.random.randint(0, 5)
        return self.observe()

    def observe(self):
        return np.eye(7, dtype=np.float32)[self.x]

    def step(self, action):
        self.x = int(np.clip(self.x + (1 if action == 1 else -1), 0, 6))
        return self.observe(), float(self.x == 6), self.x == 6


np.random.seed(1)
torch.manual_seed(1)
env, buffer = Line(), ReplayBuffer(200, 7)
q = nn.Sequential(nn.Linear(7, 16), nn.ReLU(), nn.Linear(16, 2))
target = nn.Sequential(nn.Linear(7, 16), nn.ReLU(), nn.Linear(16, 2))
target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-2)


@torch.compile(backend="eager")
def td_loss(obs, actions, rewards, next_obs, dones):
    value = q(obs).gather(1, actions[:, None]).squeeze(1)
    with torch.no_grad():
        goal = rewards + 0.9 * (1 - dones) * target(next_obs).max(1).values
    return nn.functional.smooth_l1_loss(value, goal)


returns, losses = [], []
for episode in range(20):
    obs, total, eps = env.reset(), 0.0, max(0.1, 1.0 - episode / 10)
    for step in range(20):
        if np.random.rand() < eps:
            action = np.random.choice(2)
        else:
            action = int(np.argmax(q(torch.from_numpy(obs)[None]).detach().numpy()))
        next_obs, reward, done = env.step(action)
        buffer.add(obs, action, reward, next_obs, done)
        obs, total = next_obs, total + reward * 0.9**step
        if buffer.size >= 16:
            loss = td_loss(*buffer.sample(16))
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        if done:
            break
    returns.append(total)
    if episode % 5 == 4:
        target.load_state_dict(q.state_dict())
        print(f"episode {episode}: {np.mean(returns[-5:]):.3f}, loss {np.mean(losses[-50:]):.4f}, buffer {buffer.size} {buffer.ptr}")
print(np.array(returns).round(2), buffer.actions[:20], buffer.rewards.sum(), buffer.dones.mean())
