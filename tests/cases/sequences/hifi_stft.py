"""A small HiFi-GAN: weight-normed upsampler, multi-period discriminator, STFT and mel losses."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn import Conv1d, ConvTranspose1d, AvgPool1d, Conv2d
from torch.nn.utils import weight_norm, remove_weight_norm, spectral_norm

LRELU_SLOPE = 0.1
torch.manual_seed(1234)


def init_weights(m, mean=0.0, std=0.01):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        m.weight.data.normal_(mean, std)


def get_padding(kernel_size, dilation=1):
    return int((kernel_size * dilation - dilation) / 2)


class ResBlock(torch.nn.Module):
    def __init__(self, channels, kernel_size=3, dilation=(1, 3)):
        super(ResBlock, self).__init__()
        self.convs = nn.ModuleList([
            weight_norm(Conv1d(channels, channels, kernel_size, 1, dilation=d, padding=get_padding(kernel_size, d))) for d in dilation
        ])
        self.convs.apply(init_weights)

    def forward(self, x):
        for c in self.convs:
            xt = F.leaky_relu(x, LRELU_SLOPE)
            xt = c(xt)
            x = xt + x
        return x

    def remove_weight_norm(self):
        for l in self.convs:
            remove_weight_norm(l)


class Generator(torch.nn.Module):
    def __init__(self, n_mels=10, ch=16, rates=(4, 4), kernels=(8, 8), resblock_kernels=(3, 5)):
        super(Generator, self).__init__()
        self.num_kernels, self.num_upsamples = len(resblock_kernels), len(rates)
        self.conv_pre = weight_norm(Conv1d(n_mels, ch, 7, 1, padding=3))
        self.ups = nn.ModuleList()
        for i, (u, k) in enumerate(zip(rates, kernels)):
            self.ups.append(weight_norm(ConvTranspose1d(ch // (2 ** i), ch // (2 ** (i + 1)), k, u, padding=(k - u) // 2)))
        self.resblocks = nn.ModuleList()
        for i in range(len(self.ups)):
            c = ch // (2 ** (i + 1))
            for k in resblock_kernels:
                self.resblocks.append(ResBlock(c, k))
        self.conv_post = weight_norm(Conv1d(c, 1, 7, 1, padding=3))
        self.ups.apply(init_weights)

    def forward(self, x):
        x = self.conv_pre(x)
        for i in range(self.num_upsamples):
            x = F.leaky_relu(x, LRELU_SLOPE)
            x = self.ups[i](x)
            xs = None
            for j in range(self.num_kernels):
                if xs is None:
                    xs = self.resblocks[i * self.num_kernels + j](x)
                else:
                    xs += self.resblocks[i * self.num_kernels + j](x)
            x = xs / self.num_kernels
        x = F.leaky_relu(x)
        x = self.conv_post(x)
        return torch.tanh(x)


class DiscriminatorP(torch.nn.Module):
    def __init__(self, period, use_spectral_norm=False):
        super().__init__()
        self.period = period
        norm_f = weight_norm if use_spectral_norm == False else spectral_norm
        self.convs = nn.ModuleList([norm_f(Conv2d(1, 4, (5, 1), (3, 1), padding=(2, 0))), norm_f(Conv2d(4, 8, (5, 1), (3, 1), padding=(2, 0)))])
        self.conv_post = norm_f(Conv2d(8, 1, (3, 1), 1, padding=(1, 0)))

    def forward(self, x):
        fmap = []
        b, c, t = x.shape
        if t % self.period != 0:
            n_pad = self.period - (t % self.period)
            x = F.pad(x, (0, n_pad), "reflect")
            t = t + n_pad
        x = x.view(b, c, t // self.period, self.period)
        for l in self.convs:
            x = l(x)
            x = F.leaky_relu(x, LRELU_SLOPE)
            fmap.append(x)
        x = self.conv_post(x)
        fmap.append(x)
        return torch.flatten(x, 1, -1), fmap


class MultiPeriodDiscriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.discriminators = nn.ModuleList([DiscriminatorP(2), DiscriminatorP(3), DiscriminatorP(5, use_spectral_norm=True)])

    def forward(self, y, y_hat):
        y_d_rs, y_d_gs, fmap_rs, fmap_gs = [], [], [], []
        for i, d in enumerate(self.discriminators):
            y_d_r, fmap_r = d(y)
            y_d_g, fmap_g = d(y_hat)
            y_d_rs.append(y_d_r); fmap_rs.append(fmap_r)
            y_d_gs.append(y_d_g); fmap_gs.append(fmap_g)
        return y_d_rs, y_d_gs, fmap_rs, fmap_gs


def hz_to_mel(f):
    return 2595.0 * math.log10(1.0 + f / 700.0)


def mel_filterbank(sr, n_fft, n_mels):
    mels = torch.linspace(hz_to_mel(0.0), hz_to_mel(sr / 2), n_mels + 2)
    hz = 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
    bins = torch.linspace(0, sr / 2, n_fft // 2 + 1)
    up = (bins[None] - hz[:-2, None]) / (hz[1:-1] - hz[:-2])[:, None]
    down = (hz[2:, None] - bins[None]) / (hz[2:] - hz[1:-1])[:, None]
    return torch.clamp(torch.minimum(up, down), min=0)


mel_basis, hann_window = {}, {}


def mel_spectrogram(y, n_fft=64, num_mels=10, sampling_rate=2000, hop_size=16, win_size=64, center=False):
    global mel_basis, hann_window
    key = f"{sampling_rate}_{y.device}"
    if key not in mel_basis:
        mel_basis[key] = mel_filterbank(sampling_rate, n_fft, num_mels)
        hann_window[str(y.device)] = torch.hann_window(win_size).to(y.device)
    y = F.pad(y.unsqueeze(1), (int((n_fft - hop_size) / 2), int((n_fft - hop_size) / 2)), mode="reflect").squeeze(1)
    spec = torch.stft(y, n_fft, hop_length=hop_size, win_length=win_size, window=hann_window[str(y.device)], center=center,
                      pad_mode="reflect", normalized=False, onesided=True, return_complex=True)
    spec = torch.view_as_real(spec)
    spec = torch.sqrt(spec.pow(2).sum(-1) + 1e-9)
    spec = torch.matmul(mel_basis[key], spec)
    return torch.log(torch.clamp(spec, min=1e-5))


def feature_loss(fmap_r, fmap_g):
    loss = 0
    for dr, dg in zip(fmap_r, fmap_g):
        for rl, gl in zip(dr, dg):
            loss += torch.mean(torch.abs(rl - gl))
    return loss * 2


def discriminator_loss(rs, gs):
    loss = 0
    for dr, dg in zip(rs, gs):
        loss += torch.mean((1 - dr) ** 2) + torch.mean(dg ** 2)
    return loss


generator, mpd = Generator(), MultiPeriodDiscriminator()
print(generator.conv_pre)
print("generator:", sum(p.numel() for p in generator.parameters()), "mpd:", sum(p.numel() for p in mpd.parameters()))
gen = torch.compile(generator)
optim_g = torch.optim.AdamW(generator.parameters(), 2e-3, betas=[0.8, 0.99])
optim_d = torch.optim.AdamW(mpd.parameters(), 2e-3, betas=[0.8, 0.99])
scheduler_g = torch.optim.lr_scheduler.ExponentialLR(optim_g, gamma=0.999, last_epoch=-1)
t = torch.arange(256) / 2000.0
y = torch.stack([torch.sin(2 * math.pi * f * t) for f in (110.0, 220.0)])
mel = mel_spectrogram(y)
print("mel", mel.shape, f"{mel.mean().item():.4f}")
y = y.unsqueeze(1)
for steps in range(2):
    y_g_hat = gen(mel)
    y_g_hat_mel = mel_spectrogram(y_g_hat.squeeze(1))
    optim_d.zero_grad()
    rs, gs, _, _ = mpd(y, y_g_hat.detach())
    loss_disc = discriminator_loss(rs, gs)
    loss_disc.backward()
    optim_d.step()
    optim_g.zero_grad()
    loss_mel = F.l1_loss(mel, y_g_hat_mel) * 45
    rs, gs, fr, fg = mpd(y, y_g_hat)
    loss_gen = sum(torch.mean((1 - dg) ** 2) for dg in gs)
    loss_all = loss_gen + feature_loss(fr, fg) + loss_mel
    loss_all.backward()
    optim_g.step()
    scheduler_g.step()
    print("Steps : {:d}, Gen Loss Total : {:4.3f}, Mel-Spec. Error : {:4.3f}, Disc : {:4.3f}, lr {:.6f}".format(
        steps, loss_all, loss_mel.item() / 45, loss_disc.item(), scheduler_g.get_last_lr()[0]))
before = generator(mel)
for l in [generator.conv_pre, generator.conv_post, *generator.ups]:
    remove_weight_norm(l)
for b in generator.resblocks:
    b.remove_weight_norm()
print("removed:", torch.allclose(before, generator(mel), atol=1e-5), [n for n, _ in generator.named_parameters()][:4])
