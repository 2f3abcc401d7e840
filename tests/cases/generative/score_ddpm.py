"""Noise-conditional score matching with Langevin sampling, and a tiny DDPM with an EMA."""
import copy
import functools
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from tqdm import tqdm


class GaussianFourierProjection(nn.Module):
    def __init__(self, embed_dim, scale=30.0):
        super().__init__()
        self.W = nn.Parameter(torch.randn(embed_dim // 2) * scale, requires_grad=False)

    def forward(self, x):
        x_proj = x[:, None] * self.W[None, :] * 2 * math.pi
        return torch.cat([torch.sin(x_proj), torch.cos(x_proj)], dim=-1)


class Dense(nn.Module):
    def __init__(self, input_dim, output_dim):
        super().__init__()
        self.dense = nn.Linear(input_dim, output_dim)

    def forward(self, x):
        return self.dense(x)[..., None, None]


class ScoreNet(nn.Module):
    def __init__(self, marginal_prob_std, channels=[8, 16], embed_dim=8):
        super().__init__()
        self.embed = nn.Sequential(GaussianFourierProjection(embed_dim=embed_dim), nn.Linear(embed_dim, embed_dim))
        self.conv1 = nn.Conv2d(1, channels[0], 3, stride=1, padding=1, bias=False)
        self.dense1 = Dense(embed_dim, channels[0])
        self.gnorm1 = nn.GroupNorm(4, num_channels=channels[0])
        self.conv2 = nn.Conv2d(channels[0], channels[1], 3, stride=2, padding=1, bias=False)
        self.dense2 = Dense(embed_dim, channels[1])
        self.gnorm2 = nn.GroupNorm(4, num_channels=channels[1])
        self.tconv2 = nn.ConvTranspose2d(channels[1], channels[0], 3, stride=2, bias=False, padding=1, output_padding=1)
        self.dense3 = Dense(embed_dim, channels[0])
        self.tgnorm2 = nn.GroupNorm(4, num_channels=channels[0])
        self.tconv1 = nn.ConvTranspose2d(channels[0] + channels[0], 1, 3, stride=1, padding=1)
        self.act = lambda x: x * torch.sigmoid(x)
        self.marginal_prob_std = marginal_prob_std

    def forward(self, x, t):
        embed = self.act(self.embed(t))
        h1 = self.act(self.gnorm1(self.conv1(x) + self.dense1(embed)))
        h2 = self.act(self.gnorm2(self.conv2(h1) + self.dense2(embed)))
        h = self.act(self.tgnorm2(self.tconv2(h2) + self.dense3(embed)))
        h = self.tconv1(torch.cat([h, h1], dim=1))
        return h / self.marginal_prob_std(t)[:, None, None, None]


def marginal_prob_std(t, sigma):
    return torch.sqrt((sigma ** (2 * t) - 1.0) / 2.0 / math.log(sigma))


def loss_fn(model, x, marginal_prob_std, eps=1e-5):
    random_t = torch.rand(x.shape[0], device=x.device) * (1.0 - eps) + eps
    z = torch.randn_like(x)
    std = marginal_prob_std(random_t)
    perturbed_x = x + z * std[:, None, None, None]
    score = model(perturbed_x, random_t)
    return torch.mean(torch.sum((score * std[:, None, None, None] + z) ** 2, dim=(1, 2, 3)))


torch.manual_seed(0)
std_fn = functools.partial(marginal_prob_std, sigma=25.0)
score_model = ScoreNet(std_fn)
fast = torch.compile(score_model)
optimizer = torch.optim.Adam(score_model.parameters(), lr=1e-3)
data = torch.rand(4, 1, 8, 8)
pbar = tqdm(range(3), desc="score")
for epoch in pbar:
    loss = loss_fn(fast, data, std_fn)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    pbar.set_description("loss {:.3f}".format(loss.item()))
    print(f"epoch {epoch} loss {loss.item():.4f}")


def sampler(model, batch_size=2, steps=3, snr=0.16, eps=1e-3):
    t = torch.ones(batch_size)
    x = torch.randn(batch_size, 1, 8, 8) * std_fn(t)[:, None, None, None]
    time_steps = torch.linspace(1.0, eps, steps)
    step_size = time_steps[0] - time_steps[1]
    with torch.no_grad():
        for time_step in tqdm(time_steps):
            batch = torch.ones(batch_size) * time_step
            grad = model(x, batch)
            grad_norm = torch.norm(grad.reshape(grad.shape[0], -1), dim=-1).mean()
            noise_norm = math.sqrt(math.prod(x.shape[1:]))
            langevin = 2 * (snr * noise_norm / grad_norm) ** 2
            x = x + langevin * grad + torch.sqrt(2 * langevin) * torch.randn_like(x)
            g = 25.0**batch
            mean_x = x + (g**2)[:, None, None, None] * model(x, batch) * step_size
            x = mean_x + torch.sqrt(g**2 * step_size)[:, None, None, None] * torch.randn_like(x)
    return mean_x


sample = sampler(score_model)
print("sample", sample.shape, torch.isfinite(sample).all().item())


class EMA:
    def __init__(self, beta):
        self.beta = beta
        self.step = 0

    def update_model_average(self, ma_model, current_model):
        for current_params, ma_params in zip(current_model.parameters(), ma_model.parameters()):
            old_weight, up_weight = ma_params.data, current_params.data
            ma_params.data = self.update_average(old_weight, up_weight)

    def update_average(self, old, new):
        if old is None:
            return new
        return old * self.beta + (1 - self.beta) * new

    def step_ema(self, ema_model, model, step_start_ema=1):
        if self.step < step_start_ema:
            ema_model.load_state_dict(model.state_dict())
        else:
            self.update_model_average(ema_model, model)
        self.step += 1


betas = torch.linspace(1e-4, 0.02, 10)
alphas_cumprod = torch.cumprod(1 - betas, dim=0)
alphas_cumprod_prev = F.pad(alphas_cumprod[:-1], (1, 0), value=1.0)
posterior_variance = betas * (1.0 - alphas_cumprod_prev) / (1.0 - alphas_cumprod)


def extract(a, t, x_shape):
    out = a.gather(-1, t)
    return out.reshape(t.shape[0], *((1,) * (len(x_shape) - 1)))


denoiser = nn.Sequential(nn.Linear(5, 16), nn.SiLU(), nn.Linear(16, 4))
ema_model = copy.deepcopy(denoiser).eval().requires_grad_(False)
ema = EMA(0.9)
opt = torch.optim.AdamW(denoiser.parameters(), lr=1e-2)


@torch.compile
def p_losses(x0, t, noise):
    xt = extract(alphas_cumprod.sqrt(), t, x0.shape) * x0 + extract((1 - alphas_cumprod).sqrt(), t, x0.shape) * noise
    pred = denoiser(torch.cat([xt, t[:, None] / 10], dim=1))
    return F.smooth_l1_loss(noise, pred)


for i in range(3):
    x0, t = torch.randn(8, 4), torch.randint(0, 10, (8,)).long()
    loss = p_losses(x0, t, torch.randn_like(x0))
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.step_ema(ema_model, denoiser)
    tqdm.write(f"ddpm {i} {loss.item():.4f}")
print(ema.step, f"{sum((a - b).abs().sum() for a, b in zip(ema_model.parameters(), denoiser.parameters())):.4f}", posterior_variance[:3])
