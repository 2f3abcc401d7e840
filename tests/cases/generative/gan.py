import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import spectral_norm
from torch.nn.utils.parametrizations import weight_norm

nz, ngf, ndf = 8, 4, 4


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 2), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False), nn.Sigmoid())

    def forward(self, input):
        return self.main(input).view(-1, 1).squeeze(1)


torch.manual_seed(999)
netG, netD = Generator(), Discriminator()
netG.apply(weights_init)
netD.apply(weights_init)
print(netD)
criterion = nn.BCELoss()
fixed_noise = torch.randn(2, nz, 1, 1)
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
G, D = torch.compile(netG), torch.compile(netD)
for i in range(2):
    netD.zero_grad()
    real = torch.rand(3, 1, 16, 16)
    label = torch.full((3,), 1.0, dtype=torch.float)
    output = D(real)
    errD_real = criterion(output, label)
    errD_real.backward()
    D_x = output.mean().item()
    noise = torch.randn(3, nz, 1, 1)
    fake = G(noise)
    label.fill_(0.0)
    output = D(fake.detach())
    errD_fake = criterion(output, label)
    errD_fake.backward()
    errD = errD_real + errD_fake
    optimizerD.step()
    netG.zero_grad()
    label.fill_(1.0)
    output = D(fake)
    errG = criterion(output, label)
    errG.backward()
    optimizerG.step()
    print("[%d] Loss_D: %.4f Loss_G: %.4f D(x): %.4f D(G(z)): %.4f" % (i, errD.item(), errG.item(), D_x, output.mean().item()))


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1)
    inter = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    d = critic(inter)
    grads = torch.autograd.grad(outputs=d, inputs=inter, grad_outputs=torch.ones_like(d), create_graph=True, retain_graph=True, only_inputs=True)[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()


critic = nn.Sequential(spectral_norm(nn.Linear(4, 8)), nn.LeakyReLU(0.2), weight_norm(nn.Linear(8, 1)))
opt = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
real, fake = torch.randn(5, 4), torch.randn(5, 4)
gp = gradient_penalty(critic, real, fake)
loss = critic(fake).mean() - critic(real).mean() + 10 * gp
opt.zero_grad()
loss.backward()
opt.step()
print(f"{gp.item():.4f} {loss.item():.4f}", sorted(n for n, _ in critic.named_parameters()))
print(critic)
