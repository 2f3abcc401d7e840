"""CycleGAN in small: residual generators with reflection padding, patch discriminators, image pools and linear decay."""
import itertools
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(1)
torch.manual_seed(1)


class ResidualBlock(nn.Module):
    def __init__(self, in_features):
        super(ResidualBlock, self).__init__()
        self.block = nn.Sequential(
            nn.ReflectionPad2d(1),
            nn.Conv2d(in_features, in_features, 3),
            nn.InstanceNorm2d(in_features),
            nn.ReLU(inplace=True),
            nn.ReflectionPad2d(1),
            nn.Conv2d(in_features, in_features, 3),
            nn.InstanceNorm2d(in_features),
        )

    def forward(self, x):
        return x + self.block(x)


class GeneratorResNet(nn.Module):
    def __init__(self, channels=3, num_residual_blocks=1):
        super(GeneratorResNet, self).__init__()
        out_features = 4
        model = [nn.ReflectionPad2d(channels), nn.Conv2d(channels, out_features, 7), nn.InstanceNorm2d(out_features), nn.ReLU(inplace=True)]
        in_features = out_features
        for _ in range(1):
            out_features *= 2
            model += [nn.Conv2d(in_features, out_features, 3, stride=2, padding=1), nn.InstanceNorm2d(out_features), nn.ReLU(inplace=True)]
            in_features = out_features
        for _ in range(num_residual_blocks):
            model += [ResidualBlock(out_features)]
        for _ in range(1):
            out_features //= 2
            model += [nn.Upsample(scale_factor=2), nn.Conv2d(in_features, out_features, 3, stride=1, padding=1), nn.InstanceNorm2d(out_features), nn.ReLU(inplace=True)]
            in_features = out_features
        model += [nn.ReflectionPad2d(channels), nn.Conv2d(out_features, channels, 7), nn.Tanh()]
        self.model = nn.Sequential(*model)

    def forward(self, x):
        return self.model(x)


class Discriminator(nn.Module):
    def __init__(self, input_shape):
        super(Discriminator, self).__init__()
        channels, height, width = input_shape
        self.output_shape = (1, height // 2 ** 2, width // 2 ** 2)

        def discriminator_block(in_filters, out_filters, normalize=True):
            layers = [nn.Conv2d(in_filters, out_filters, 4, stride=2, padding=1)]
            if normalize:
                layers.append(nn.InstanceNorm2d(out_filters))
            layers.append(nn.LeakyReLU(0.2, inplace=True))
            return layers

        self.model = nn.Sequential(
            *discriminator_block(channels, 4, normalize=False),
            *discriminator_block(4, 8),
            nn.ZeroPad2d((1, 0, 1, 0)),
            nn.Conv2d(8, 1, 4, padding=1),
        )

    def forward(self, img):
        return self.model(img)


def weights_init_normal(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        torch.nn.init.normal_(m.weight.data, 0.0, 0.02)
        if hasattr(m, "bias") and m.bias is not None:
            torch.nn.init.constant_(m.bias.data, 0.0)
    elif classname.find("BatchNorm2d") != -1:
        torch.nn.init.normal_(m.weight.data, 1.0, 0.02)
        torch.nn.init.constant_(m.bias.data, 0.0)


class ReplayBuffer:
    def __init__(self, max_size=50):
        assert max_size > 0, "Empty buffer or trying to create a black hole. Be careful."
        self.max_size = max_size
        self.data = []

    def push_and_pop(self, data):
        to_return = []
        for element in data.data:
            element = torch.unsqueeze(element, 0)
            if len(self.data) < self.max_size:
                self.data.append(element)
                to_return.append(element)
            else:
                if random.uniform(0, 1) > 0.5:
                    i = random.randint(0, self.max_size - 1)
                    to_return.append(self.data[i].clone())
                    self.data[i] = element
                else:
                    to_return.append(element)
        return torch.cat(to_return)


class LambdaLR:
    def __init__(self, n_epochs, offset, decay_start_epoch):
        assert (n_epochs - decay_start_epoch) > 0, "Decay must start before the training session ends!"
        self.n_epochs, self.offset, self.decay_start_epoch = n_epochs, offset, decay_start_epoch

    def step(self, epoch):
        return 1.0 - max(0, epoch + self.offset - self.decay_start_epoch) / (self.n_epochs - self.decay_start_epoch)


shape = (3, 8, 8)
G_AB, G_BA, D_A, D_B = GeneratorResNet(), GeneratorResNet(), Discriminator(shape), Discriminator(shape)
for net in (G_AB, G_BA, D_A, D_B):
    net.apply(weights_init_normal)
print(D_A)
criterion_GAN, criterion_cycle, criterion_identity = nn.MSELoss(), nn.L1Loss(), nn.L1Loss()
optimizer_G = torch.optim.Adam(itertools.chain(G_AB.parameters(), G_BA.parameters()), lr=2e-3, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(itertools.chain(D_A.parameters(), D_B.parameters()), lr=2e-3, betas=(0.5, 0.999))
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer_G, lr_lambda=LambdaLR(4, 0, 1).step)
fake_A_buffer, fake_B_buffer = ReplayBuffer(2), ReplayBuffer(2)
real_A, real_B = torch.rand(1, *shape) * 2 - 1, torch.rand(1, *shape) - 0.5


@torch.compile
def generate(real_A, real_B):
    fake_B, fake_A = G_AB(real_A), G_BA(real_B)
    loss_id = criterion_identity(G_BA(real_A), real_A) + criterion_identity(G_AB(real_B), real_B)
    loss_cycle = criterion_cycle(G_BA(fake_B), real_A) + criterion_cycle(G_AB(fake_A), real_B)
    pa, pb = D_A(fake_A), D_B(fake_B)
    loss_gan = criterion_GAN(pa, torch.ones_like(pa)) + criterion_GAN(pb, torch.ones_like(pb))
    return loss_gan + 10 * loss_cycle + 5 * loss_id, fake_A, fake_B


@torch.compile
def discriminate(D, real, fake):
    r, f = D(real), D(fake.detach())
    return (criterion_GAN(r, torch.ones_like(r)) + criterion_GAN(f, torch.zeros_like(f))) / 2


for epoch in range(3):
    for p in itertools.chain(D_A.parameters(), D_B.parameters()):
        p.requires_grad = False
    optimizer_G.zero_grad()
    loss_G, fake_A, fake_B = generate(real_A, real_B)
    loss_G.backward()
    optimizer_G.step()
    for p in itertools.chain(D_A.parameters(), D_B.parameters()):
        p.requires_grad = True
    optimizer_D.zero_grad()
    loss_D = discriminate(D_A, real_A, fake_A_buffer.push_and_pop(fake_A)) + discriminate(D_B, real_B, fake_B_buffer.push_and_pop(fake_B))
    loss_D.backward()
    optimizer_D.step()
    scheduler.step()
    print(f"[Epoch {epoch}] [D loss: {loss_D.item():.3f}] [G loss: {loss_G.item():.3f}] lr {optimizer_G.param_groups[0]['lr']:.5f} patch {tuple(D_A(real_A).shape)}")
