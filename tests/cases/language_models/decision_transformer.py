import math
import random
from collections import namedtuple
from statistics import mean
import torch
import torch.nn as nn
import torch.nn.functional as F


class MaskedCausalAttention(nn.Module):
    def __init__(self, h_dim, max_T, n_heads, drop_p):
        super().__init__()
        self.n_heads = n_heads
        self.max_T = max_T
        self.q_net = nn.Linear(h_dim, h_dim)
        self.k_net = nn.Linear(h_dim, h_dim)
        self.v_net = nn.Linear(h_dim, h_dim)
        self.proj_net = nn.Linear(h_dim, h_dim)
        self.att_drop = nn.Dropout(drop_p)
        self.proj_drop = nn.Dropout(drop_p)
        ones = torch.ones((max_T, max_T))
        mask = torch.tril(ones).view(1, 1, max_T, max_T)
        self.register_buffer('mask', mask)

    def forward(self, x):
        B, T, C = x.shape
        N, D = self.n_heads, C // self.n_heads
        q = self.q_net(x).view(B, T, N, D).transpose(1, 2)
        k = self.k_net(x).view(B, T, N, D).transpose(1, 2)
        v = self.v_net(x).view(B, T, N, D).transpose(1, 2)
        weights = q @ k.transpose(2, 3) / math.sqrt(D)
        weights = weights.masked_fill(self.mask[..., :T, :T] == 0, float('-inf'))
        normalized_weights = F.softmax(weights, dim=-1)
        attention = self.att_drop(normalized_weights @ v)
        attention = attention.transpose(1, 2).contiguous().view(B, T, N * D)
        out = self.proj_drop(self.proj_net(attention))
        return out


class Block(nn.Module):
    def __init__(self, h_dim, max_T, n_heads, drop_p):
        super().__init__()
        self.attention = MaskedCausalAttention(h_dim, max_T, n_heads, drop_p)
        self.mlp = nn.Sequential(nn.Linear(h_dim, 4 * h_dim), nn.GELU(), nn.Linear(4 * h_dim, h_dim), nn.Dropout(drop_p))
        self.ln1 = nn.LayerNorm(h_dim)
        self.ln2 = nn.LayerNorm(h_dim)

    def forward(self, x):
        x = x + self.attention(x)
        x = self.ln1(x)
        x = x + self.mlp(x)
        x = self.ln2(x)
        return x


class DecisionTransformer(nn.Module):
    def __init__(self, state_dim, act_dim, n_blocks, h_dim, context_len, n_heads, drop_p, max_timestep=64):
        super().__init__()
        self.state_dim = state_dim
        self.act_dim = act_dim
        self.h_dim = h_dim
        input_seq_len = 3 * context_len
        blocks = [Block(h_dim, input_seq_len, n_heads, drop_p) for _ in range(n_blocks)]
        self.transformer = nn.Sequential(*blocks)
        self.embed_ln = nn.LayerNorm(h_dim)
        self.embed_timestep = nn.Embedding(max_timestep, h_dim)
        self.embed_rtg = torch.nn.Linear(1, h_dim)
        self.embed_state = torch.nn.Linear(state_dim, h_dim)
        self.embed_action = torch.nn.Linear(act_dim, h_dim)
        use_action_tanh = True
        self.predict_rtg = torch.nn.Linear(h_dim, 1)
        self.predict_state = torch.nn.Linear(h_dim, state_dim)
        self.predict_action = nn.Sequential(*([nn.Linear(h_dim, act_dim)] + ([nn.Tanh()] if use_action_tanh else [])))

    def forward(self, timesteps, states, actions, returns_to_go):
        B, T, _ = states.shape
        time_embeddings = self.embed_timestep(timesteps)
        state_embeddings = self.embed_state(states) + time_embeddings
        action_embeddings = self.embed_action(actions) + time_embeddings
        returns_embeddings = self.embed_rtg(returns_to_go) + time_embeddings
        h = torch.stack((returns_embeddings, state_embeddings, action_embeddings), dim=1).permute(0, 2, 1, 3).reshape(B, 3 * T, self.h_dim)
        h = self.embed_ln(h)
        h = self.transformer(h)
        h = h.reshape(B, T, 3, self.h_dim).permute(0, 2, 1, 3).contiguous()
        return_preds = self.predict_rtg(h[:, 2])
        state_preds = self.predict_state(h[:, 2])
        action_preds = self.predict_action(h[:, 1])
        return state_preds, action_preds, return_preds


def discount_cumsum(x, gamma):
    disc_cumsum = torch.zeros_like(x)
    disc_cumsum[-1] = x[-1]
    for t in reversed(range(x.shape[0] - 1)):
        disc_cumsum[t] = x[t] + gamma * disc_cumsum[t + 1]
    return disc_cumsum


class TrajectoryDataset(torch.utils.data.Dataset):
    def __init__(self, trajectories, context_len, rtg_scale):
        self.context_len = context_len
        self.trajectories = trajectories
        states = []
        for traj in self.trajectories:
            states.append(traj['observations'])
            traj['returns_to_go'] = discount_cumsum(traj['rewards'], 1.0) / rtg_scale
        states = torch.cat(states, dim=0)
        self.state_mean, self.state_std = states.mean(0), states.std(0, unbiased=False) + 1e-6
        for traj in self.trajectories:
            traj['observations'] = (traj['observations'] - self.state_mean) / self.state_std

    def __len__(self):
        return len(self.trajectories)

    def __getitem__(self, idx):
        traj = self.trajectories[idx]
        traj_len = traj['observations'].shape[0]
        if traj_len >= self.context_len:
            si = random.randint(0, traj_len - self.context_len)
            states = traj['observations'][si:si + self.context_len]
            actions = traj['actions'][si:si + self.context_len]
            returns_to_go = traj['returns_to_go'][si:si + self.context_len]
            timesteps = torch.arange(start=si, end=si + self.context_len, step=1)
            traj_mask = torch.ones(self.context_len, dtype=torch.long)
        else:
            padding_len = self.context_len - traj_len
            states = traj['observations']
            states = torch.cat([states, torch.zeros(([padding_len] + list(states.shape[1:])), dtype=states.dtype)], dim=0)
            actions = traj['actions']
            actions = torch.cat([actions, torch.zeros(([padding_len] + list(actions.shape[1:])), dtype=actions.dtype)], dim=0)
            returns_to_go = traj['returns_to_go']
            returns_to_go = torch.cat([returns_to_go, torch.zeros(([padding_len] + list(returns_to_go.shape[1:])), dtype=returns_to_go.dtype)], dim=0)
            timesteps = torch.arange(start=0, end=self.context_len, step=1)
            traj_mask = torch.cat([torch.ones(traj_len, dtype=torch.long), torch.zeros(padding_len, dtype=torch.long)], dim=0)
        return timesteps, states, actions, returns_to_go, traj_mask


torch.manual_seed(1)
random.seed(1)
trajs = []
for n in [3, 8, 6, 10, 5, 7]:
    trajs.append(dict(observations=torch.randn(n, 4), actions=torch.tanh(torch.randn(n, 2)),
                      rewards=torch.rand(n)))
dataset = TrajectoryDataset(trajs, context_len=6, rtg_scale=10)
loader = torch.utils.data.DataLoader(dataset, batch_size=3, shuffle=True, drop_last=True)
model = DecisionTransformer(4, 2, 2, 16, 6, 2, 0.1)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda steps: min((steps + 1) / 3, 1))
net = torch.compile(model, backend="eager")
model.train()
for it in range(3):
    log_action_losses = []
    for timesteps, states, actions, returns_to_go, traj_mask in loader:
        returns_to_go = returns_to_go.unsqueeze(dim=-1)
        action_target = torch.clone(actions).detach()
        state_preds, action_preds, return_preds = net(timesteps, states, actions, returns_to_go)
        action_preds = action_preds.view(-1, 2)[traj_mask.view(-1,) > 0]
        action_target = action_target.view(-1, 2)[traj_mask.view(-1,) > 0]
        action_loss = F.mse_loss(action_preds, action_target, reduction='mean')
        optimizer.zero_grad()
        action_loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        scheduler.step()
        log_action_losses.append(action_loss.detach().cpu().item())
    print(f"iter {it} loss {mean(log_action_losses):.5f} lr {scheduler.get_last_lr()[0]:.6f}")

Rollout = namedtuple("Rollout", "ret length")
model.eval()
with torch.no_grad():
    actions = torch.zeros((1, 12, 2))
    states = torch.zeros((1, 12, 4))
    rewards_to_go = torch.zeros((1, 12, 1))
    timesteps = torch.arange(12).repeat(1, 1)
    state, rtg, total = torch.ones(4), 1.0, 0
    for t in range(12):
        states[0, t] = state
        rewards_to_go[0, t] = rtg
        lo = max(0, t - 5)
        if t < 6:
            _, act_preds, _ = model(timesteps[:, :6], states[:, :6], actions[:, :6], rewards_to_go[:, :6])
            act = act_preds[0, t].detach()
        else:
            _, act_preds, _ = model(timesteps[:, lo:t + 1], states[:, lo:t + 1], actions[:, lo:t + 1], rewards_to_go[:, lo:t + 1])
            act = act_preds[0, -1].detach()
        state = 0.9 * state + 0.1 * act.repeat(2)
        reward = -state.abs().mean().item()
        actions[0, t] = act
        total += reward
        rtg = rtg - reward / 10
    r = Rollout(round(total, 3), 12)
print(r)
