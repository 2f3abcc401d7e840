"""A Fourier neural operator for Burgers-like data."""
import operator
from functools import partial, reduce

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SpectralConv1d(nn.Module):
    def __init__(self, in_channels, out_channels, modes1):
        super(SpectralConv1d, self).__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.modes1 = modes1
        self.scale = (1 / (in_channels * out_channels))
        self.weights1 = nn.Parameter(self.scale * torch.rand(in_channels, out_channels, self.modes1, dtype=torch.cfloat))

    def compl_mul1d(self, input, weights):
        return torch.einsum("bix,iox->box", input, weights)

    def forward(self, x):
        batchsize = x.shape[0]
        x_ft = torch.fft.rfft(x)
        out_ft = torch.zeros(batchsize, self.out_channels, x.size(-1) // 2 + 1, device=x.device, dtype=torch.cfloat)
        out_ft[:, :, :self.modes1] = self.compl_mul1d(x_ft[:, :, :self.modes1], self.weights1)
        return torch.fft.irfft(out_ft, n=x.size(-1))


class MLP(nn.Module):
    def __init__(self, in_channels, out_channels, mid_channels):
        super(MLP, self).__init__()
        self.mlp1 = nn.Conv1d(in_channels, mid_channels, 1)
        self.mlp2 = nn.Conv1d(mid_channels, out_channels, 1)

    def forward(self, x):
        x = self.mlp1(x)
        x = F.gelu(x)
        return self.mlp2(x)


class FNO1d(nn.Module):
    def __init__(self, modes, width):
        super(FNO1d, self).__init__()
        self.modes1 = modes
        self.width = width
        self.padding = 2
        self.p = nn.Linear(2, self.width)
        self.conv0 = SpectralConv1d(self.width, self.width, self.modes1)
        self.conv1 = SpectralConv1d(self.width, self.width, self.modes1)
        self.mlp0 = MLP(self.width, self.width, self.width)
        self.mlp1 = MLP(self.width, self.width, self.width)
        self.w0 = nn.Conv1d(self.width, self.width, 1)
        self.w1 = nn.Conv1d(self.width, self.width, 1)
        self.q = MLP(self.width, 1, self.width * 2)

    def forward(self, x):
        grid = self.get_grid(x.shape, x.device)
        x = torch.cat((x, grid), dim=-1)
        x = self.p(x)
        x = x.permute(0, 2, 1)
        x = F.pad(x, [0, self.padding])
        x = F.gelu(self.mlp0(self.conv0(x)) + self.w0(x))
        x = self.mlp1(self.conv1(x)) + self.w1(x)
        x = x[..., :-self.padding]
        x = self.q(x)
        return x.permute(0, 2, 1)

    def get_grid(self, shape, device):
        batchsize, size_x = shape[0], shape[1]
        gridx = torch.linspace(0, 1, size_x)
        gridx = gridx.reshape(1, size_x, 1).repeat([batchsize, 1, 1])
        return gridx.to(device)


class LpLoss(object):
    def __init__(self, d=2, p=2, size_average=True, reduction=True):
        super(LpLoss, self).__init__()
        assert d > 0 and p > 0
        self.d, self.p, self.reduction, self.size_average = d, p, reduction, size_average

    def rel(self, x, y):
        num_examples = x.size()[0]
        diff_norms = torch.norm(x.reshape(num_examples, -1) - y.reshape(num_examples, -1), self.p, 1)
        y_norms = torch.norm(y.reshape(num_examples, -1), self.p, 1)
        if self.reduction:
            return torch.mean(diff_norms / y_norms) if self.size_average else torch.sum(diff_norms / y_norms)
        return diff_norms / y_norms

    def __call__(self, x, y):
        return self.rel(x, y)


def count_params(model):
    c = 0
    for p in list(model.parameters()):
        c += reduce(operator.mul, list(p.size() + (2,) if p.is_complex() else p.size()))
    return c


s = 16
grid = torch.linspace(0, 2 * torch.pi, s + 1)[:-1]
a = torch.stack([torch.sin(grid + ph) + 0.3 * torch.cos(3 * grid - ph) for ph in torch.rand(4) * 6])
u = torch.tanh(a).roll(2, -1)
model = FNO1d(4, 8)
print(model)
print(count_params(model))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
myloss = LpLoss(size_average=False)
train = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(a.unsqueeze(-1), u), batch_size=2, shuffle=True)
fwd = torch.compile(model)
for ep in range(3):
    model.train()
    train_mse, train_l2 = 0, 0
    for x, y in train:
        optimizer.zero_grad()
        out = fwd(x)
        mse = F.mse_loss(out.view(2, -1), y.view(2, -1), reduction="mean")
        l2 = myloss(out.view(2, -1), y.view(2, -1))
        l2.backward()
        optimizer.step()
        train_mse += mse.item()
        train_l2 += l2.item()
    scheduler.step()
    print(ep, f"{train_mse / len(train):.4f} {train_l2 / 4:.4f}", scheduler.get_last_lr())
print(model.conv0.weights1.dtype, f"{model.conv0.weights1.grad.abs().sum():.4f}")
power = torch.fft.rfft(u, norm="ortho").abs().pow(2).mean(0)
print([round(v, 3) for v in power.tolist()])
print(torch.fft.fftshift(torch.fft.fftfreq(8)), torch.fft.rfftfreq(8, d=0.5))
