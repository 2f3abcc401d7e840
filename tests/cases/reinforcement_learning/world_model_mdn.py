"""World Models: VAE encoder, MDN-RNN memory and a controller evolved with a simple CMA-free evolution strategy."""
import collections
import enum
import itertools
import math
from typing import NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical, MixtureSameFamily, Normal, Independent

torch.manual_seed(123)


class Mode(enum.Enum):
    TRAIN = "train"
    EVAL = "eval"


class Batch(NamedTuple):
    obs: torch.Tensor
    action: torch.Tensor
    reward: torch.Tensor


class VAE(nn.Module):
    def __init__(self, img_channels=1, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(img_channels, 8, 4, stride=2, padding=1), nn.ReLU(True), nn.Conv2d(8, 16, 4, stride=2, padding=1), nn.ReLU(True), nn.Flatten())
        self.fc_mu, self.fc_logsigma = nn.Linear(16 * 16, latent), nn.Linear(16 * 16, latent)
        self.fc = nn.Linear(latent, 16 * 16)
        self.decoder = nn.Sequential(nn.Unflatten(1, (16, 4, 4)), nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.ReLU(True), nn.ConvTranspose2d(8, img_channels, 4, 2, 1), nn.Sigmoid())

    def reparameterize(self, mu, logsigma):
        sigma = logsigma.exp()
        eps = torch.randn_like(sigma)
        return eps.mul(sigma).add_(mu)

    def forward(self, x):
        h = self.encoder(x)
        mu, logsigma = self.fc_mu(h), self.fc_logsigma(h)
        z = self.reparameterize(mu, logsigma)
        return self.decoder(self.fc(z)), mu, logsigma


def vae_loss(recon_x, x, mu, logsigma):
    BCE = F.binary_cross_entropy(recon_x, x, reduction="sum")
    KLD = -0.5 * torch.sum(1 + 2 * logsigma - mu.pow(2) - (2 * logsigma).exp())
    return (BCE + KLD) / x.size(0)


def gmm_loss(batch, mus, sigmas, logpi, reduce=True):
    batch = batch.unsqueeze(-2)
    normal_dist = Normal(mus, sigmas)
    g_log_probs = normal_dist.log_prob(batch)
    g_log_probs = logpi + torch.sum(g_log_probs, dim=-1)
    max_log_probs = torch.max(g_log_probs, dim=-1, keepdim=True)[0]
    g_log_probs = g_log_probs - max_log_probs
    g_probs = torch.exp(g_log_probs)
    probs = torch.sum(g_probs, dim=-1)
    log_prob = max_log_probs.squeeze() + torch.log(probs)
    if reduce:
        return -torch.mean(log_prob)
    return -log_prob


class _MDRNNBase(nn.Module):
    def __init__(self, latents, actions, hiddens, gaussians):
        super().__init__()
        self.latents, self.actions, self.hiddens, self.gaussians = latents, actions, hiddens, gaussians
        self.gmm_linear = nn.Linear(hiddens, (2 * latents + 1) * gaussians + 2)

    def forward(self, *inputs):
        raise NotImplementedError


class MDRNN(_MDRNNBase):
    def __init__(self, latents, actions, hiddens, gaussians):
        super().__init__(latents, actions, hiddens, gaussians)
        self.rnn = nn.LSTM(latents + actions, hiddens)

    def forward(self, actions, latents):
        seq_len, bs = actions.size(0), actions.size(1)
        ins = torch.cat([actions, latents], dim=-1)
        outs, _ = self.rnn(ins)
        gmm_outs = self.gmm_linear(outs)
        stride = self.gaussians * self.latents
        mus = gmm_outs[:, :, :stride].view(seq_len, bs, self.gaussians, self.latents)
        sigmas = torch.exp(gmm_outs[:, :, stride:2 * stride].view(seq_len, bs, self.gaussians, self.latents))
        pi = gmm_outs[:, :, 2 * stride: 2 * stride + self.gaussians].view(seq_len, bs, self.gaussians)
        logpi = F.log_softmax(pi, dim=-1)
        return mus, sigmas, logpi, gmm_outs[:, :, -2], gmm_outs[:, :, -1]


class MDRNNCell(_MDRNNBase):
    def __init__(self, latents, actions, hiddens, gaussians):
        super().__init__(latents, actions, hiddens, gaussians)
        self.rnn = nn.LSTMCell(latents + actions, hiddens)

    def forward(self, action, latent, hidden):
        next_hidden = self.rnn(torch.cat([action, latent], dim=1), hidden)
        out = self.gmm_linear(next_hidden[0])
        stride = self.gaussians * self.latents
        mus = out[:, :stride].view(-1, self.gaussians, self.latents)
        sigmas = torch.exp(out[:, stride:2 * stride]).view(-1, self.gaussians, self.latents)
        pi = out[:, 2 * stride:2 * stride + self.gaussians].view(-1, self.gaussians)
        return mus, sigmas, F.log_softmax(pi, dim=-1), out[:, -2], out[:, -1], next_hidden


def rollout(n, length):
    frames, actions, rewards = torch.zeros(length + 1, n, 1, 16, 16), torch.zeros(length, n, 2), torch.zeros(length, n)
    pos = torch.randint(2, 12, (n, 2))
    for t in range(length + 1):
        for b in range(n):
            r, c = pos[b].tolist()
            frames[t, b, 0, r:r + 3, c:c + 3] = 1.0
        if t < length:
            a = torch.randint(-1, 2, (n, 2))
            pos = (pos + a).clamp_(0, 13)
            actions[t] = a.float()
            rewards[t] = -((pos.float() - 6) ** 2).sum(-1).sqrt() / 10
    return Batch(frames, actions, rewards)


batch = rollout(4, 6)
vae = VAE()
opt = optim.Adam(vae.parameters(), lr=5e-3)
step = torch.compile(lambda x: vae_loss(vae(x)[0], x, *vae(x)[1:]))
flat = batch.obs.flatten(0, 1)
for epoch in range(4):
    opt.zero_grad()
    loss = step(flat)
    loss.backward()
    opt.step()
    print(f"vae {epoch} {Mode.TRAIN.value}: {loss.item():.3f}")
with torch.no_grad():
    _, mu, logsigma = vae(flat)
latents = mu.view(7, 4, -1)
mdrnn = MDRNN(4, 2, 16, 3)
optimizer = optim.RMSprop(mdrnn.parameters(), lr=1e-2, alpha=0.9)
scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, "min", factor=0.5, patience=1)
history = collections.defaultdict(list)
for epoch in range(5):
    mus, sigmas, logpi, rs, ds = mdrnn(batch.action, latents[:-1])
    gmm = gmm_loss(latents[1:], mus, sigmas, logpi)
    mse = F.mse_loss(rs, batch.reward)
    bce = F.binary_cross_entropy_with_logits(ds, torch.zeros_like(ds), pos_weight=torch.tensor(2.0))
    loss = (gmm + bce + mse) / (4 + 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step(loss)
    for k, v in dict(loss=loss, gmm=gmm, bce=bce, mse=mse).items():
        history[k].append(v.item())
    print("loss={loss:10.6f} bce={bce:10.6f} gmm={gmm:10.6f} mse={mse:10.6f}".format(**{k: v[-1] for k, v in history.items()}))
mix = MixtureSameFamily(Categorical(logits=logpi), Independent(Normal(mus, sigmas), 1))
print(mix.batch_shape, mix.event_shape, f"{-mix.log_prob(latents[1:]).mean().item():.5f} {gmm.item():.5f}")
cell = MDRNNCell(4, 2, 16, 3)
cell.load_state_dict({k.replace("_l0", ""): v for k, v in mdrnn.state_dict().items()})
controller = nn.Linear(4 + 16, 2)


@torch.no_grad()
def dream(params, steps=5):
    nn.utils.vector_to_parameters(params, controller.parameters())
    hidden = (torch.zeros(1, 16), torch.zeros(1, 16))
    z, total = latents[0, :1], 0.0
    for _ in range(steps):
        a = torch.tanh(controller(torch.cat((z, hidden[0]), dim=1)))
        mus, sigmas, logpi, r, d, hidden = cell(a, z, hidden)
        k = logpi.exp().multinomial(1).squeeze(1)
        z = mus[torch.arange(1), k] + 0.1 * sigmas[torch.arange(1), k] * torch.randn(1, 4)
        total += r.item()
    return total


theta = nn.utils.parameters_to_vector(controller.parameters()).detach()
for gen in range(3):
    eps = torch.randn(6, theta.numel())
    scores = torch.tensor([dream(theta + 0.2 * e) for e in itertools.chain(eps, -eps)])
    ranks = scores.argsort().argsort().float() / (len(scores) - 1) - 0.5
    theta = theta + 0.5 / (12 * 0.2) * (ranks[:, None] * torch.cat((eps, -eps))).sum(0)
    print(f"gen {gen}: best {scores.max():.4f} mean {scores.mean():.4f} |theta| {theta.norm():.4f}")
