# RL: PPO with GAE, categorical policy, vectorised toy env, minibatches, KL early stop
import torch, torch.nn as nn
from torch.distributions import Categorical, Normal
torch.manual_seed(0)
class Env:
    def __init__(self, n): self.n, self.s = n, torch.zeros(n, 4)
    def reset(self): self.s = torch.randn(self.n, 4) * 0.1; self.t = torch.zeros(self.n, dtype=torch.long); return self.s.clone()
    def step(self, a):
        force = (a.float() * 2 - 1).unsqueeze(-1)
        self.s = self.s + 0.1 * torch.cat([self.s[:, 1:2], force, self.s[:, 3:4], -force * self.s[:, :1]], 1)
        self.t += 1
        done = (self.s[:, 0].abs() > 0.4) | (self.t >= 10)
        r = torch.where(done, -1.0, 1.0) - self.s[:, 2].pow(2)
        self.s[done] = torch.randn(int(done.sum()), 4) * 0.1
        self.t[done] = 0
        return self.s.clone(), r, done
def layer(i, o, std=2 ** 0.5):
    l = nn.Linear(i, o); nn.init.orthogonal_(l.weight, std); nn.init.constant_(l.bias, 0.0); return l
class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(layer(4, 16), nn.Tanh(), layer(16, 1, std=1.0))
        self.actor = nn.Sequential(layer(4, 16), nn.Tanh(), layer(16, 2, std=0.01))
    def value(self, x): return self.critic(x)
    def act(self, x, a=None):
        p = Categorical(logits=self.actor(x))
        if a is None: a = p.sample()
        return a, p.log_prob(a), p.entropy(), self.critic(x)
agent, env = Agent(), Env(4)
opt = torch.optim.Adam(agent.parameters(), 3e-3, eps=1e-5)
@torch.compile
def update(obs, act, logp, adv, ret, val, clip: float):
    _, new, ent, v = agent.act(obs, act)
    lr = new - logp; ratio = lr.exp()
    with torch.no_grad():
        kl = ((ratio - 1) - lr).mean(); frac = ((ratio - 1.0).abs() > clip).float().mean()
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    pg = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 1 - clip, 1 + clip)).mean()
    v = v.view(-1); vc = val + torch.clamp(v - val, -clip, clip)
    vl = 0.5 * torch.max((v - ret) ** 2, (vc - ret) ** 2).mean()
    return pg - 0.01 * ent.mean() + vl * 0.5, kl, frac
T = 8
obs = env.reset(); done = torch.zeros(4)
for it in range(2):
    B = {k: [] for k in ("obs", "act", "logp", "rew", "done", "val")}
    for t in range(T):
        with torch.no_grad(): a, lp, _, v = agent.act(obs)
        nobs, r, d = env.step(a)
        for k, x in zip(B, (obs, a, lp, r, done, v.flatten())): B[k].append(x)
        obs, done = nobs, d.float()
    B = {k: torch.stack(v) for k, v in B.items()}
    with torch.no_grad():
        nv = agent.value(obs).reshape(1, -1); adv = torch.zeros_like(B["rew"]); last = 0
        for t in reversed(range(T)):
            nn_, nval = (1.0 - done, nv) if t == T - 1 else (1.0 - B["done"][t + 1], B["val"][t + 1])
            delta = B["rew"][t] + 0.99 * nval * nn_ - B["val"][t]
            adv[t] = last = delta + 0.99 * 0.95 * nn_ * last
        ret = adv + B["val"]
    flat = lambda x: x.reshape((-1,) + x.shape[2:])
    for epoch in range(2):
        for mb in torch.randperm(32).split(16):
            loss, kl, frac = update(flat(B["obs"])[mb], flat(B["act"])[mb], flat(B["logp"])[mb], flat(adv)[mb], flat(ret)[mb], flat(B["val"])[mb], 0.2)
            opt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(agent.parameters(), 0.5); opt.step()
        if kl > 0.5: break
    ev = 1 - (ret - B["val"]).var() / ret.var()
    print(it, f"{loss.item():.4f} {kl.item():.5f} {frac.item():.3f} {ev.item():.3f} {B['rew'].mean().item():.4f}")
m = Normal(torch.zeros(2), torch.ones(2)); print(m.entropy(), torch.distributions.kl_divergence(m, Normal(torch.ones(2), 2 * torch.ones(2))))
