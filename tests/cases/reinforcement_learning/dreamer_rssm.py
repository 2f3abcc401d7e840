"""Dreamer-style recurrent state space model: GRU cell, straight-through categorical latents, KL balancing, free nats."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Independent, Normal, OneHotCategoricalStraightThrough, kl_divergence


class RSSM(nn.Module):
    def __init__(self, stoch=3, classes=4, deter=8, hidden=8, act_dim=2, embed=6):
        super().__init__()
        self.stoch, self.classes, self.deter = stoch, classes, deter
        self.inp = nn.Sequential(nn.Linear(stoch * classes + act_dim, hidden), nn.LayerNorm(hidden), nn.SiLU())
        self.gru = nn.GRUCell(hidden, deter)
        self.prior_net = nn.Sequential(nn.Linear(deter, hidden), nn.ELU(), nn.Linear(hidden, stoch * classes))
        self.post_net = nn.Sequential(nn.Linear(deter + embed, hidden), nn.ELU(), nn.Linear(hidden, stoch * classes))

    def initial(self, batch):
        p = next(self.parameters())
        return {"deter": p.new_zeros(batch, self.deter), "stoch": p.new_zeros(batch, self.stoch * self.classes)}

    def dist(self, logits, unimix=0.01):
        logits = logits.unflatten(-1, (self.stoch, self.classes))
        probs = (1 - unimix) * logits.softmax(-1) + unimix / self.classes
        return probs.log()

    def sample(self, logits, noise):
        hard = F.one_hot((logits + noise).argmax(-1), self.classes).to(logits.dtype)
        probs = logits.softmax(-1)
        return (hard + probs - probs.detach()).flatten(-2)

    def step(self, state, action, embed, noise):
        x = self.inp(torch.cat([state["stoch"], action], -1))
        deter = self.gru(x, state["deter"])
        prior = self.dist(self.prior_net(deter))
        post = self.dist(self.post_net(torch.cat([deter, embed], -1)))
        return {"deter": deter, "stoch": self.sample(post, noise)}, prior, post


class WorldModel(nn.Module):
    def __init__(self, obs=5):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(obs, 6), nn.SiLU())
        self.rssm = RSSM()
        self.decoder = nn.Linear(8 + 12, obs)
        self.reward = nn.Linear(8 + 12, 1)

    def forward(self, obs, actions, rewards, noise):
        T = obs.shape[0]
        embed = self.encoder(obs)
        state = self.rssm.initial(obs.shape[1])
        feats, priors, posts = [], [], []
        for t in range(T):
            state, prior, post = self.rssm.step(state, actions[t], embed[t], noise[t])
            feats.append(torch.cat([state["deter"], state["stoch"]], -1))
            priors.append(prior)
            posts.append(post)
        feat, prior, post = map(torch.stack, (feats, priors, posts))
        recon = 0.5 * (self.decoder(feat) - obs).pow(2).sum(-1).mean()
        rew = F.mse_loss(self.reward(feat).squeeze(-1), torch.sign(rewards) * torch.log1p(rewards.abs()))
        kl = lambda p, q: (p.exp() * (p - q)).sum((-2, -1)).mean()
        dyn, rep = kl(post.detach(), prior), kl(post, prior.detach())
        free = torch.tensor(0.1)
        loss = recon + rew + 0.5 * torch.maximum(dyn, free) + 0.1 * torch.maximum(rep, free)
        return loss, {"recon": recon, "reward": rew, "dyn": dyn, "rep": rep}, feat.detach()


torch.manual_seed(0)
wm = WorldModel()
fwd = torch.compile(wm)
opt = torch.optim.Adam(wm.parameters(), lr=3e-3, eps=1e-5)
for it in range(3):
    obs, act, rew = torch.randn(3, 4, 5), torch.randn(3, 4, 2).tanh(), 3 * torch.randn(3, 4)
    noise = -torch.empty(3, 4, 3, 4).exponential_().log()
    loss, metrics, feat = fwd(obs, act, rew, noise)
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(wm.parameters(), 0.5)
    opt.step()
    print(it, f"loss={loss.item():.4f}", " ".join(f"{k}={v.item():.4f}" for k, v in metrics.items()))

actor = nn.Sequential(nn.Linear(20, 8), nn.ELU(), nn.Linear(8, 4))
critic = nn.Linear(20, 1)


@torch.compile
def lambda_return(reward, value, discount: float = 0.9, lam: float = 0.95):
    last, outs = value[-1], []
    for t in reversed(range(reward.shape[0])):
        nxt = value[t + 1] if t + 1 < reward.shape[0] else value[-1]
        last = reward[t] + discount * ((1 - lam) * nxt + lam * last)
        outs.append(last)
    return torch.stack(outs[::-1])


mean, std = actor(feat).chunk(2, -1)
pi = Independent(Normal(mean.tanh(), F.softplus(std) + 0.1), 1)
a = pi.rsample()
value = critic(feat).squeeze(-1)
ret = lambda_return(wm.reward(feat).squeeze(-1).detach(), value)
pg = -(pi.log_prob(a.detach()) * (ret - value).detach()).mean() - 3e-2 * pi.entropy().mean()
vl = 0.5 * (value - ret.detach()).pow(2).mean()
(pg + vl).backward()
print(f"{pg.item():.4f} {vl.item():.4f}", ret.mean(), actor[0].bias.grad.norm())
d = OneHotCategoricalStraightThrough(logits=torch.randn(2, 4))
print(d.rsample(), kl_divergence(d, OneHotCategoricalStraightThrough(logits=torch.zeros(2, 4))))
