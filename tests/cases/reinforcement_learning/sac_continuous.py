"""Soft actor-critic on a pendulum written out in Python, and REINFORCE with a baseline."""
import math
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical, Normal

seed = 123
random.seed(seed)
torch.manual_seed(seed)
Transition = namedtuple("Transition", ("state", "action", "reward", "next_state", "done"))


class Pendulum:
    max_speed, max_torque, dt, g, m, l = 8.0, 2.0, 0.05, 10.0, 1.0, 1.0

    def reset(self):
        self.state = (random.uniform(-math.pi, math.pi), random.uniform(-1, 1))
        self.t = 0
        return self._obs()

    def _obs(self):
        th, thdot = self.state
        return [math.cos(th), math.sin(th), thdot]

    def step(self, u):
        th, thdot = self.state
        u = max(-self.max_torque, min(self.max_torque, u))
        angle = ((th + math.pi) % (2 * math.pi)) - math.pi
        costs = angle ** 2 + 0.1 * thdot ** 2 + 0.001 * u ** 2
        newthdot = thdot + (3 * self.g / (2 * self.l) * math.sin(th) + 3.0 / (self.m * self.l ** 2) * u) * self.dt
        newthdot = max(-self.max_speed, min(self.max_speed, newthdot))
        self.state = (th + newthdot * self.dt, newthdot)
        self.t += 1
        return self._obs(), -costs, self.t >= 20


class ReplayBuffer:
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        batch = Transition(*zip(*random.sample(self.memory, batch_size)))
        return [torch.tensor(x, dtype=torch.float32) for x in batch]

    def __len__(self):
        return len(self.memory)


def weights_init_(m):
    if isinstance(m, nn.Linear):
        torch.nn.init.xavier_uniform_(m.weight, gain=1)
        torch.nn.init.constant_(m.bias, 0)


class QNetwork(nn.Module):
    def __init__(self, num_inputs, num_actions, hidden_dim):
        super().__init__()
        self.linear1 = nn.Linear(num_inputs + num_actions, hidden_dim)
        self.linear2 = nn.Linear(hidden_dim, 1)
        self.linear4 = nn.Linear(num_inputs + num_actions, hidden_dim)
        self.linear5 = nn.Linear(hidden_dim, 1)
        self.apply(weights_init_)

    def forward(self, state, action):
        xu = torch.cat([state, action], 1)
        x1 = self.linear2(F.relu(self.linear1(xu)))
        x2 = self.linear5(F.relu(self.linear4(xu)))
        return x1, x2


LOG_SIG_MAX, LOG_SIG_MIN, epsilon = 2, -20, 1e-6


class GaussianPolicy(nn.Module):
    def __init__(self, num_inputs, num_actions, hidden_dim, action_scale=2.0):
        super().__init__()
        self.linear1 = nn.Linear(num_inputs, hidden_dim)
        self.mean_linear = nn.Linear(hidden_dim, num_actions)
        self.log_std_linear = nn.Linear(hidden_dim, num_actions)
        self.apply(weights_init_)
        self.action_scale = torch.tensor(action_scale)
        self.action_bias = torch.tensor(0.0)

    def forward(self, state):
        x = F.relu(self.linear1(state))
        mean = self.mean_linear(x)
        log_std = torch.clamp(self.log_std_linear(x), min=LOG_SIG_MIN, max=LOG_SIG_MAX)
        return mean, log_std

    def sample(self, state):
        mean, log_std = self.forward(state)
        std = log_std.exp()
        normal = Normal(mean, std)
        x_t = normal.rsample()
        y_t = torch.tanh(x_t)
        action = y_t * self.action_scale + self.action_bias
        log_prob = normal.log_prob(x_t)
        log_prob -= torch.log(self.action_scale * (1 - y_t.pow(2)) + epsilon)
        log_prob = log_prob.sum(1, keepdim=True)
        mean = torch.tanh(mean) * self.action_scale + self.action_bias
        return action, log_prob, mean


def soft_update(target, source, tau):
    for target_param, param in zip(target.parameters(), source.parameters()):
        target_param.data.copy_(target_param.data * (1.0 - tau) + param.data * tau)


critic, critic_target, policy = QNetwork(3, 1, 16), QNetwork(3, 1, 16), GaussianPolicy(3, 1, 16)
critic_target.load_state_dict(critic.state_dict())
critic_optim = optim.Adam(critic.parameters(), lr=3e-3)
policy_optim = optim.Adam(policy.parameters(), lr=3e-3)
target_entropy = -torch.prod(torch.Tensor((1,))).item()
log_alpha = torch.zeros(1, requires_grad=True)
alpha_optim = optim.Adam([log_alpha], lr=3e-3)
alpha, gamma, tau = 0.2, 0.99, 0.05


@torch.compile
def q_loss(state, action, target):
    qf1, qf2 = critic(state, action)
    return F.mse_loss(qf1, target) + F.mse_loss(qf2, target)


@torch.compile
def pi_loss(state, alpha):
    pi, log_pi, _ = policy.sample(state)
    qf1_pi, qf2_pi = critic(state, pi)
    return ((alpha * log_pi) - torch.min(qf1_pi, qf2_pi)).mean(), log_pi


env, memory = Pendulum(), ReplayBuffer(200)
updates = 0
for episode in range(3):
    state, episode_reward, done = env.reset(), 0.0, False
    while not done:
        if len(memory) < 16:
            action = [random.uniform(-2, 2)]
        else:
            with torch.no_grad():
                action = policy.sample(torch.FloatTensor(state).unsqueeze(0))[0].squeeze(0).tolist()
        next_state, reward, done = env.step(action[0])
        memory.push(state, action, [reward], next_state, [float(done)])
        state = next_state
        episode_reward += reward
        if len(memory) >= 16 and updates < 6:
            s, a, r, ns, d = memory.sample(8)
            with torch.no_grad():
                next_action, next_log_pi, _ = policy.sample(ns)
                min_q = torch.min(*critic_target(ns, next_action)) - alpha * next_log_pi
                target = r + (1 - d) * gamma * min_q
            loss = q_loss(s, a, target)
            critic_optim.zero_grad()
            loss.backward()
            critic_optim.step()
            policy_loss, log_pi = pi_loss(s, torch.tensor(alpha))
            policy_optim.zero_grad()
            policy_loss.backward()
            policy_optim.step()
            alpha_loss = -(log_alpha * (log_pi + target_entropy).detach()).mean()
            alpha_optim.zero_grad()
            alpha_loss.backward()
            alpha_optim.step()
            alpha = log_alpha.exp().item()
            soft_update(critic_target, critic, tau)
            updates += 1
            print(f"update {updates} q {loss.item():.3f} pi {policy_loss.item():.3f} alpha {alpha:.4f}")
    print(f"Episode: {episode}, reward: {round(episode_reward, 1)}, buffer {len(memory)}")


class Reinforce(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 16)
        self.dropout = nn.Dropout(p=0.2)
        self.affine2 = nn.Linear(16, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = self.affine1(x)
        x = self.dropout(x)
        x = F.relu(x)
        return F.softmax(self.affine2(x), dim=1)


policy = Reinforce()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
eps = torch.finfo(torch.float32).eps


def select_action(state):
    probs = policy(state.unsqueeze(0))
    m = Categorical(probs)
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


for i_episode in range(2):
    state = torch.randn(4)
    for t in range(8):
        action = select_action(state)
        state = 0.9 * state + 0.1 * (2 * action - 1)
        policy.rewards.append(float(-state.abs().sum()))
    R, policy_loss, returns = 0, [], deque()
    for r in policy.rewards[::-1]:
        R = r + 0.99 * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    print("Episode {}\tloss: {:.3f}\tLast reward: {:.2f}".format(i_episode, policy_loss.item(), policy.rewards[-1]))
    del policy.rewards[:]
    del policy.saved_log_probs[:]
