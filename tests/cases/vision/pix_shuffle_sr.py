"""ESPCN / EDSR / RCAN: super-resolution with sub-pixel convolutions, charbonnier loss, PSNR and SSIM by hand."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import weight_norm


class MeanShift(nn.Conv2d):
    def __init__(self, rgb_range, rgb_mean=(0.4488, 0.4371, 0.4040), rgb_std=(1.0, 1.0, 1.0), sign=-1):
        super(MeanShift, self).__init__(3, 3, kernel_size=1)
        std = torch.Tensor(rgb_std)
        self.weight.data = torch.eye(3).view(3, 3, 1, 1) / std.view(3, 1, 1, 1)
        self.bias.data = sign * rgb_range * torch.Tensor(rgb_mean) / std
        for p in self.parameters():
            p.requires_grad = False


class ResBlock(nn.Module):
    def __init__(self, n_feats, kernel_size=3, res_scale=0.1):
        super().__init__()
        m = []
        for i in range(2):
            m.append(nn.Conv2d(n_feats, n_feats, kernel_size, padding=(kernel_size // 2)))
            if i == 0:
                m.append(nn.ReLU(True))
        self.body = nn.Sequential(*m)
        self.res_scale = res_scale

    def forward(self, x):
        res = self.body(x).mul(self.res_scale)
        res += x
        return res


class CALayer(nn.Module):
    def __init__(self, channel, reduction=4):
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.conv_du = nn.Sequential(nn.Conv2d(channel, channel // reduction, 1), nn.ReLU(inplace=True), nn.Conv2d(channel // reduction, channel, 1), nn.Sigmoid())

    def forward(self, x):
        return x * self.conv_du(self.avg_pool(x))


class Upsampler(nn.Sequential):
    def __init__(self, scale, n_feats):
        m = []
        if (scale & (scale - 1)) == 0:
            for _ in range(int(math.log(scale, 2))):
                m.append(nn.Conv2d(n_feats, 4 * n_feats, 3, padding=1))
                m.append(nn.PixelShuffle(2))
        elif scale == 3:
            m += [nn.Conv2d(n_feats, 9 * n_feats, 3, padding=1), nn.PixelShuffle(3)]
        else:
            raise NotImplementedError
        super().__init__(*m)


class EDSR(nn.Module):
    def __init__(self, scale=4, n_feats=8, n_blocks=2):
        super().__init__()
        self.sub_mean, self.add_mean = MeanShift(1.0), MeanShift(1.0, sign=1)
        self.head = nn.Conv2d(3, n_feats, 3, padding=1)
        self.body = nn.Sequential(*[ResBlock(n_feats) for _ in range(n_blocks)], CALayer(n_feats), nn.Conv2d(n_feats, n_feats, 3, padding=1))
        self.tail = nn.Sequential(Upsampler(scale, n_feats), nn.Conv2d(n_feats, 3, 3, padding=1))

    def forward(self, x):
        x = self.sub_mean(x)
        x = self.head(x)
        res = self.body(x)
        res += x
        return self.add_mean(self.tail(res))


class CharbonnierLoss(nn.Module):
    def __init__(self, eps=1e-3):
        super().__init__()
        self.eps = eps

    def forward(self, x, y):
        diff = x - y
        return torch.mean(torch.sqrt((diff * diff) + (self.eps * self.eps)))


def gaussian(window_size, sigma):
    gauss = torch.Tensor([math.exp(-((x - window_size // 2) ** 2) / float(2 * sigma**2)) for x in range(window_size)])
    return gauss / gauss.sum()


def create_window(window_size, channel):
    _1D_window = gaussian(window_size, 1.5).unsqueeze(1)
    _2D_window = _1D_window.mm(_1D_window.t()).float().unsqueeze(0).unsqueeze(0)
    return _2D_window.expand(channel, 1, window_size, window_size).contiguous()


def ssim(img1, img2, window_size=7):
    channel = img1.size(1)
    window = create_window(window_size, channel).type_as(img1)
    conv = lambda t: F.conv2d(t, window, padding=window_size // 2, groups=channel)
    mu1, mu2 = conv(img1), conv(img2)
    mu1_sq, mu2_sq, mu1_mu2 = mu1.pow(2), mu2.pow(2), mu1 * mu2
    s1, s2, s12 = conv(img1 * img1) - mu1_sq, conv(img2 * img2) - mu2_sq, conv(img1 * img2) - mu1_mu2
    C1, C2 = 0.01**2, 0.03**2
    return (((2 * mu1_mu2 + C1) * (2 * s12 + C2)) / ((mu1_sq + mu2_sq + C1) * (s1 + s2 + C2))).mean()


def tv_loss(x):
    h = (x[:, :, 1:, :] - x[:, :, :-1, :]).abs().mean()
    w = (x[:, :, :, 1:] - x[:, :, :, :-1]).abs().mean()
    return h + w


def psnr(a, b):
    return 10 * torch.log10(1.0 / F.mse_loss(a, b))


torch.manual_seed(0)
hr = torch.rand(2, 3, 16, 16)
lr = F.interpolate(hr, scale_factor=0.25, mode="bicubic", align_corners=False)
print(lr.shape, f"{lr.mean():.5f}")
model = EDSR()
print(sum(p.numel() for p in model.parameters() if p.requires_grad))
criterion = CharbonnierLoss()
opt = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-3, betas=(0.9, 0.99))
sched = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=[2, 3], gamma=0.5)


@torch.compile
def train_loss(lr, hr):
    sr = model(lr)
    return criterion(sr, hr) + 0.01 * tv_loss(sr), sr


for i in range(4):
    opt.zero_grad(set_to_none=True)
    loss, sr = train_loss(lr, hr)
    loss.backward()
    opt.step()
    sched.step()
    print(f"[{i}] loss={loss.item():.5f} psnr={psnr(sr.detach().clamp(0, 1), hr):.4f} lr={opt.param_groups[0]['lr']:g}")
compiled_ssim = torch.compile(ssim, backend="aot_eager", fullgraph=True)
print(f"ssim {compiled_ssim(sr.detach(), hr).item():.5f} {ssim(hr, hr).item():.5f}")
wn = weight_norm(nn.Conv2d(3, 4, 3, padding=1))
print(wn, [n for n, _ in wn.named_parameters()])
up = F.interpolate(lr, size=(16, 16), mode="bilinear", align_corners=True)
print(f"bilinear {psnr(up, hr):.4f}", nn.PixelUnshuffle(2)(hr).shape)
