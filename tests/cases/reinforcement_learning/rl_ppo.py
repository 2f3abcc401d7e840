import torch
import torch.nn as nn
from torch.distributions import Categorical, Normal


def layer_init(layer, std=2 ** 0.5, bias_const=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class ActorCritic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(obs, 16)), nn.Tanh(), layer_init(nn.Linear(16, 1), std=1.0))
        self.actor = nn.Sequential(layer_init(nn.Linear(obs, 16)), nn.Tanh(), layer_init(nn.Linear(16, act), std=0.01))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        logits = self.actor(x)
        probs = Categorical(logits=logits)
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


class GaussianPolicy(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.mean = nn.Linear(obs, act)
        self.log_std = nn.Parameter(torch.zeros(act))

    def forward(self, x, a):
        dist = Normal(self.mean(x), self.log_std.exp())
        return dist.log_prob(a).sum(-1), dist.entropy().sum(-1)


torch.manual_seed(1)
agent = ActorCritic(4, 3)
optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)
steps, gamma, lam, clip, ent, vf = 8, 0.99, 0.95, 0.2, 0.01, 0.5
obs = torch.zeros(steps, 4)
actions, logprobs, rewards, dones, values = (torch.zeros(steps) for _ in range(5))
state = torch.randn(4)
for t in range(steps):
    obs[t] = state
    with torch.no_grad():
        action, logprob, _, value = agent.get_action_and_value(state)
        values[t] = value.flatten()
    actions[t], logprobs[t] = action, logprob
    rewards[t] = 1.0 if action.item() == t % 3 else -0.1
    dones[t] = float(t == 4)
    state = torch.roll(state, 1) * 0.9 + 0.1 * action
print(actions.tolist(), rewards.sum())
advantages = torch.zeros_like(rewards)
lastgaelam = 0
for t in reversed(range(steps)):
    nextvalue = values[t + 1] if t < steps - 1 else agent.get_value(state).detach().squeeze()
    nonterminal = 1.0 - dones[t]
    delta = rewards[t] + gamma * nextvalue * nonterminal - values[t]
    advantages[t] = lastgaelam = delta + gamma * lam * nonterminal * lastgaelam
returns = advantages + values
print(advantages.round(decimals=3))


@torch.compile
def ppo_loss(logits, value, action, old_logprob, adv, ret):
    logp = torch.log_softmax(logits, -1)
    newlogprob = logp.gather(1, action.unsqueeze(1)).squeeze(1)
    entropy = -(logp.exp() * logp).sum(-1)
    logratio = newlogprob - old_logprob
    ratio = logratio.exp()
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    pg_loss = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 1 - clip, 1 + clip)).mean()
    v_loss = 0.5 * ((value.view(-1) - ret) ** 2).mean()
    return pg_loss - ent * entropy.mean() + v_loss * vf, ((ratio - 1.0) - logratio).mean().detach()


for epoch in range(3):
    for mb in torch.randperm(steps).split(4):
        loss, kl = ppo_loss(agent.actor(obs[mb]), agent.critic(obs[mb]), actions.long()[mb], logprobs[mb], advantages[mb], returns[mb])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()
    print(epoch, f"{loss.item():.4f} {kl.item():.6f}")
pi = GaussianPolicy(4, 2)
f = torch.compile(pi)
lp, en = f(obs, torch.ones(steps, 2))
(-(lp * advantages).mean() - 0.01 * en.mean()).backward()
print(pi.log_std.grad, pi.mean.weight.grad.abs().sum())
