import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.init as init
import torchvision.transforms as transforms
from collections import OrderedDict


class SuperResolutionNet(nn.Module):
    def __init__(self, upscale_factor, inplace=False):
        super(SuperResolutionNet, self).__init__()
        self.relu = nn.ReLU(inplace=inplace)
        self.conv1 = nn.Conv2d(1, 8, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(8, 8, (3, 3), (1, 1), (1, 1))
        self.conv4 = nn.Conv2d(8, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        return self.pixel_shuffle(self.conv4(x))

    def _initialize_weights(self):
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv2.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv4.weight)


def gram_matrix(y):
    (b, ch, h, w) = y.size()
    features = y.view(b, ch, w * h)
    features_t = features.transpose(1, 2)
    gram = features.bmm(features_t) / (ch * h * w)
    return gram


class VGGish(nn.Module):
    def __init__(self):
        super().__init__()
        self.slices = nn.ModuleList([
            nn.Sequential(OrderedDict(conv=nn.Conv2d(3, 4, 3, padding=1), relu=nn.ReLU())),
            nn.Sequential(OrderedDict(pool=nn.MaxPool2d(2), conv=nn.Conv2d(4, 8, 3, padding=1), relu=nn.ReLU())),
        ])
        for param in self.parameters():
            param.requires_grad = False

    def forward(self, x):
        outs = []
        for s in self.slices:
            x = s(x)
            outs.append(x)
        return outs


class ResidualBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.pad = nn.ReflectionPad2d(1)
        self.c1, self.c2 = nn.Conv2d(c, c, 3), nn.Conv2d(c, c, 3)
        self.i1, self.i2 = nn.InstanceNorm2d(c, affine=True), nn.InstanceNorm2d(c, affine=True)

    def forward(self, x):
        out = F.relu(self.i1(self.c1(self.pad(x))))
        return self.i2(self.c2(self.pad(out))) + x


class TransformerNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 6, 3, stride=2, padding=1)
        self.res = ResidualBlock(6)
        self.up = nn.Conv2d(6, 3, 3, padding=1)

    def forward(self, x):
        y = self.res(F.relu(self.down(x)))
        y = F.interpolate(y, mode="nearest", scale_factor=2)
        return torch.sigmoid(self.up(y))


class TVLoss(nn.Module):
    def forward(self, x):
        b, c, h, w = x.size()
        h_tv = torch.pow((x[:, :, 1:, :] - x[:, :, : h - 1, :]), 2).sum()
        w_tv = torch.pow((x[:, :, :, 1:] - x[:, :, :, : w - 1]), 2).sum()
        return 2 * (h_tv / ((h - 1) * w) + w_tv / (h * (w - 1))) / b


torch.manual_seed(123)
sr = SuperResolutionNet(upscale_factor=2)
sr_c = torch.compile(sr)
opt = torch.optim.Adam(sr.parameters(), lr=1e-2)
hr = torch.rand(2, 1, 12, 12)
lr_img = F.interpolate(hr, scale_factor=0.5, mode="bilinear", align_corners=False)
for it in range(3):
    opt.zero_grad()
    loss = F.mse_loss(sr_c(lr_img), hr)
    loss.backward()
    opt.step()
    psnr = 10 * torch.log10(1 / loss.detach())
    print(f"===> iteration {it}: Loss: {loss.item():.4f} PSNR: {psnr:.2f} dB")
bicubic = F.interpolate(lr_img, size=(12, 12), mode="bicubic", align_corners=True)
print("bicubic", bicubic.shape, f"{F.l1_loss(bicubic, hr):.4f}")

vgg, net, tv = VGGish(), TransformerNet(), TVLoss()
content = torch.rand(1, 3, 8, 8)
style = torch.rand(1, 3, 8, 8)
gram_style = [gram_matrix(f) for f in vgg(style)]


@torch.compile
def losses(x):
    y = net(x)
    fy, fx = vgg(y), vgg(x)
    content_loss = F.mse_loss(fy[1], fx[1])
    style_loss = 0.0
    for ft_y, gm_s in zip(fy, gram_style):
        gm_y = gram_matrix(ft_y)
        style_loss += F.mse_loss(gm_y, gm_s[: len(x), :, :])
    return content_loss, style_loss * 100, tv(y) * 1e-2


opt = torch.optim.Adam(net.parameters(), 1e-2)
for i in range(3):
    opt.zero_grad()
    c, s, t = losses(content)
    total = c + s + t
    total.backward()
    opt.step()
    print(f"content {c:.4f} style {s:.4f} tv {t:.5f}")

# optimise the picture itself
target = content.clone().requires_grad_(True)
optimizer = torch.optim.LBFGS([target], max_iter=3)


def closure():
    with torch.no_grad():
        target.clamp_(0, 1)
    optimizer.zero_grad()
    loss = sum(F.mse_loss(gram_matrix(f), g) for f, g in zip(vgg(target), gram_style))
    loss.backward()
    return loss


for run in range(2):
    loss = optimizer.step(closure)
    print(f"lbfgs {run}: {loss.item() * 1e4:.3f}")
