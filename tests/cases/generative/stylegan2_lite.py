"""StyleGAN2 in small: mapping network, modulated convolutions, blur resampling, R1 and path length penalties."""
import math
import random
from functools import partial

import torch
from torch import nn, autograd, optim
from torch.nn import functional as F

torch.manual_seed(3)
random.seed(3)


class PixelNorm(nn.Module):
    def forward(self, input):
        return input * torch.rsqrt(torch.mean(input ** 2, dim=1, keepdim=True) + 1e-8)


def make_kernel(k):
    k = torch.tensor(k, dtype=torch.float32)
    if k.ndim == 1:
        k = k[None, :] * k[:, None]
    k /= k.sum()
    return k


def upfirdn2d(input, kernel, up=1, down=1, pad=(0, 0)):
    b, c, h, w = input.shape
    kh, kw = kernel.shape
    out = input.reshape(b * c, h, 1, w, 1, 1)
    out = F.pad(out, [0, 0, 0, up - 1, 0, 0, 0, up - 1])
    out = out.view(b * c, h * up, w * up, 1)
    out = F.pad(out, [0, 0, max(pad[0], 0), max(pad[1], 0), max(pad[0], 0), max(pad[1], 0)])
    out = out.permute(0, 3, 1, 2)
    out = F.conv2d(out, torch.flip(kernel, [0, 1]).view(1, 1, kh, kw))
    out = out[:, :, ::down, ::down]
    return out.reshape(b, c, out.shape[2], out.shape[3])


class Blur(nn.Module):
    def __init__(self, kernel, pad, upsample_factor=1):
        super().__init__()
        kernel = make_kernel(kernel)
        if upsample_factor > 1:
            kernel = kernel * (upsample_factor ** 2)
        self.register_buffer("kernel", kernel)
        self.pad = pad

    def forward(self, input):
        return upfirdn2d(input, self.kernel, pad=self.pad)


class EqualConv2d(nn.Module):
    def __init__(self, in_channel, out_channel, kernel_size, stride=1, padding=0, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_channel, in_channel, kernel_size, kernel_size))
        self.scale = 1 / math.sqrt(in_channel * kernel_size ** 2)
        self.stride, self.padding = stride, padding
        self.bias = nn.Parameter(torch.zeros(out_channel)) if bias else None

    def forward(self, input):
        return F.conv2d(input, self.weight * self.scale, bias=self.bias, stride=self.stride, padding=self.padding)

    def __repr__(self):
        return (f"{self.__class__.__name__}({self.weight.shape[1]}, {self.weight.shape[0]},"
                f" {self.weight.shape[2]}, stride={self.stride}, padding={self.padding})")


class EqualLinear(nn.Module):
    def __init__(self, in_dim, out_dim, bias=True, bias_init=0, lr_mul=1, activation=None):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_dim, in_dim).div_(lr_mul))
        self.bias = nn.Parameter(torch.zeros(out_dim).fill_(bias_init)) if bias else None
        self.activation = activation
        self.scale = (1 / math.sqrt(in_dim)) * lr_mul
        self.lr_mul = lr_mul

    def forward(self, input):
        if self.activation:
            return F.leaky_relu(F.linear(input, self.weight * self.scale) + self.bias * self.lr_mul, 0.2) * math.sqrt(2)
        return F.linear(input, self.weight * self.scale, bias=self.bias * self.lr_mul)

    def __repr__(self):
        return f"{self.__class__.__name__}({self.weight.shape[1]}, {self.weight.shape[0]})"


class ModulatedConv2d(nn.Module):
    def __init__(self, in_channel, out_channel, kernel_size, style_dim, demodulate=True, upsample=False, blur_kernel=[1, 3, 3, 1]):
        super().__init__()
        self.eps, self.kernel_size, self.in_channel, self.out_channel, self.upsample = 1e-8, kernel_size, in_channel, out_channel, upsample
        if upsample:
            p = (len(blur_kernel) - 2) - (kernel_size - 1)
            self.blur = Blur(blur_kernel, pad=((p + 1) // 2 + 1, p // 2 + 1), upsample_factor=2)
        self.scale = 1 / math.sqrt(in_channel * kernel_size ** 2)
        self.padding = kernel_size // 2
        self.weight = nn.Parameter(torch.randn(1, out_channel, in_channel, kernel_size, kernel_size))
        self.modulation = EqualLinear(style_dim, in_channel, bias_init=1)
        self.demodulate = demodulate

    def forward(self, input, style):
        batch, in_channel, height, width = input.shape
        style = self.modulation(style).view(batch, 1, in_channel, 1, 1)
        weight = self.scale * self.weight * style
        if self.demodulate:
            demod = torch.rsqrt(weight.pow(2).sum([2, 3, 4]) + 1e-8)
            weight = weight * demod.view(batch, self.out_channel, 1, 1, 1)
        weight = weight.view(batch * self.out_channel, in_channel, self.kernel_size, self.kernel_size)
        if self.upsample:
            input = input.view(1, batch * in_channel, height, width)
            weight = weight.view(batch, self.out_channel, in_channel, self.kernel_size, self.kernel_size)
            weight = weight.transpose(1, 2).reshape(batch * in_channel, self.out_channel, self.kernel_size, self.kernel_size)
            out = F.conv_transpose2d(input, weight, padding=0, stride=2, groups=batch)
            _, _, height, width = out.shape
            return self.blur(out.view(batch, self.out_channel, height, width))
        input = input.view(1, batch * in_channel, height, width)
        out = F.conv2d(input, weight, padding=self.padding, groups=batch)
        return out.view(batch, self.out_channel, *out.shape[-2:])


class NoiseInjection(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, image, noise=None):
        if noise is None:
            batch, _, height, width = image.shape
            noise = image.new_empty(batch, 1, height, width).normal_()
        return image + self.weight * noise


class StyledConv(nn.Module):
    def __init__(self, i, o, style_dim, upsample=False):
        super().__init__()
        self.conv = ModulatedConv2d(i, o, 3, style_dim, upsample=upsample)
        self.noise = NoiseInjection()
        self.activate = partial(F.leaky_relu, negative_slope=0.2)

    def forward(self, input, style, noise=None):
        return self.activate(self.noise(self.conv(input, style), noise=noise))


class Generator(nn.Module):
    def __init__(self, size=16, style_dim=16, n_mlp=3, ch=8):
        super().__init__()
        layers = [PixelNorm()]
        for _ in range(n_mlp):
            layers.append(EqualLinear(style_dim, style_dim, lr_mul=0.01, activation="fused_lrelu"))
        self.style = nn.Sequential(*layers)
        self.input = nn.Parameter(torch.randn(1, ch, 4, 4))
        self.conv1 = StyledConv(ch, ch, style_dim)
        self.log_size = int(math.log(size, 2))
        self.convs = nn.ModuleList()
        for i in range(3, self.log_size + 1):
            self.convs.append(StyledConv(ch, ch, style_dim, upsample=True))
            self.convs.append(StyledConv(ch, ch, style_dim))
        self.to_rgb = ModulatedConv2d(ch, 3, 1, style_dim, demodulate=False)
        self.n_latent = self.log_size * 2 - 2

    def forward(self, styles, return_latents=False, inject_index=None):
        styles = [self.style(s) for s in styles]
        if len(styles) < 2:
            latent = styles[0].unsqueeze(1).repeat(1, self.n_latent, 1)
        else:
            latent = styles[0].unsqueeze(1).repeat(1, inject_index, 1)
            latent2 = styles[1].unsqueeze(1).repeat(1, self.n_latent - inject_index, 1)
            latent = torch.cat([latent, latent2], 1)
        out = self.input.repeat(latent.shape[0], 1, 1, 1)
        out = self.conv1(out, latent[:, 0])
        for i, conv in enumerate(self.convs):
            out = conv(out, latent[:, min(i + 1, self.n_latent - 1)])
        image = self.to_rgb(out, latent[:, -1])
        return (image, latent) if return_latents else (image, None)


class Discriminator(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.convs = nn.Sequential(EqualConv2d(3, ch, 1), nn.LeakyReLU(0.2), Blur([1, 3, 3, 1], (2, 2)), EqualConv2d(ch, ch, 3, stride=2),
                                   nn.LeakyReLU(0.2), Blur([1, 3, 3, 1], (2, 2)), EqualConv2d(ch, ch, 3, stride=2), nn.LeakyReLU(0.2))
        self.stddev_group = 2
        self.final_conv = EqualConv2d(ch + 1, ch, 3, padding=1)
        self.final_linear = nn.Sequential(EqualLinear(ch * 16, ch, activation="fused_lrelu"), EqualLinear(ch, 1))

    def forward(self, input):
        out = self.convs(input)
        batch, channel, height, width = out.shape
        group = min(batch, self.stddev_group)
        stddev = out.view(group, -1, 1, channel, height, width)
        stddev = torch.sqrt(stddev.var(0, unbiased=False) + 1e-8)
        stddev = stddev.mean([2, 3, 4], keepdims=True).squeeze(2)
        stddev = stddev.repeat(group, 1, height, width)
        out = F.leaky_relu(self.final_conv(torch.cat([out, stddev], 1)), 0.2)
        return self.final_linear(out.view(batch, -1))


def requires_grad(model, flag=True):
    for p in model.parameters():
        p.requires_grad = flag


def accumulate(model1, model2, decay=0.999):
    par1, par2 = dict(model1.named_parameters()), dict(model2.named_parameters())
    for k in par1.keys():
        par1[k].data.mul_(decay).add_(par2[k].data, alpha=1 - decay)


def d_logistic_loss(real_pred, fake_pred):
    return F.softplus(-real_pred).mean() + F.softplus(fake_pred).mean()


def d_r1_loss(real_pred, real_img):
    grad_real, = autograd.grad(outputs=real_pred.sum(), inputs=real_img, create_graph=True)
    return grad_real.pow(2).reshape(grad_real.shape[0], -1).sum(1).mean()


def g_path_regularize(fake_img, latents, mean_path_length, decay=0.01):
    noise = torch.randn_like(fake_img) / math.sqrt(fake_img.shape[2] * fake_img.shape[3])
    grad, = autograd.grad(outputs=(fake_img * noise).sum(), inputs=latents, create_graph=True)
    path_lengths = torch.sqrt(grad.pow(2).sum(2).mean(1))
    path_mean = mean_path_length + decay * (path_lengths.mean() - mean_path_length)
    return (path_lengths - path_mean).pow(2).mean(), path_mean.detach(), path_lengths


def mixing_noise(batch, latent_dim, prob):
    if prob > 0 and random.random() < prob:
        return torch.randn(2, batch, latent_dim).unbind(0)
    return [torch.randn(batch, latent_dim)]


G, D, g_ema = Generator(), Discriminator(), Generator()
g_ema.eval()
accumulate(g_ema, G, 0)
print(D)
print("G", sum(p.numel() for p in G.parameters()), "D", sum(p.numel() for p in D.parameters()), "latents", G.n_latent)
g_optim = optim.Adam(G.parameters(), lr=0.002, betas=(0.0, 0.99))
d_optim = optim.Adam(D.parameters(), lr=0.002, betas=(0.0, 0.99))
D_compiled = torch.compile(D)
mean_path_length = 0
for i in range(4):
    real_img = torch.rand(4, 3, 16, 16) * 2 - 1
    requires_grad(G, False); requires_grad(D, True)
    noise = mixing_noise(4, 16, 0.9)
    fake_img, _ = G(noise, inject_index=random.randint(1, G.n_latent - 1) if len(noise) > 1 else None)
    d_loss = d_logistic_loss(D_compiled(real_img), D_compiled(fake_img))
    D.zero_grad(); d_loss.backward(); d_optim.step()
    r1 = torch.tensor(0.0)
    if i % 2 == 0:
        real_img.requires_grad = True
        real_pred = D(real_img)
        r1 = d_r1_loss(real_pred, real_img)
        D.zero_grad()
        (10 / 2 * r1 * 2 + 0 * real_pred[0]).backward()
        d_optim.step()
    requires_grad(G, True); requires_grad(D, False)
    noise = mixing_noise(4, 16, 0.9)
    fake_img, _ = G(noise, inject_index=2)
    g_loss = F.softplus(-D_compiled(fake_img)).mean()
    G.zero_grad(); g_loss.backward(); g_optim.step()
    path_loss, mean_path_length, lengths = g_path_regularize(*G(mixing_noise(2, 16, 0.0), return_latents=True), mean_path_length)
    G.zero_grad(); (2 * path_loss).backward(); g_optim.step()
    accumulate(g_ema, G, 0.5 ** (32 / (10 * 1000)))
    print(f"[{i}] d: {d_loss.item():.4f}; g: {g_loss.item():.4f}; r1: {r1.item():.4f}; path: {path_loss.item():.4f}; mean path: {mean_path_length.item():.4f}")
with torch.no_grad():
    sample, _ = g_ema([torch.randn(2, 16)])
print(sample.shape, f"{sample.mean().item():.4f} {sample.std().item():.4f}", sorted(G.state_dict())[:3])
