"""Temporal convolutions, causal padding, weight norm, GLU."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import weight_norm


class Chomp1d(nn.Module):
    def __init__(self, chomp_size):
        super().__init__()
        self.chomp_size = chomp_size

    def forward(self, x):
        return x[:, :, :-self.chomp_size].contiguous()


class TemporalBlock(nn.Module):
    def __init__(self, n_inputs, n_outputs, kernel_size, stride, dilation, padding, dropout=0.2):
        super().__init__()
        self.conv1 = weight_norm(nn.Conv1d(n_inputs, n_outputs, kernel_size, stride=stride, padding=padding, dilation=dilation))
        self.chomp1 = Chomp1d(padding)
        self.relu1 = nn.ReLU()
        self.dropout1 = nn.Dropout(dropout)
        self.conv2 = weight_norm(nn.Conv1d(n_outputs, n_outputs, kernel_size, stride=stride, padding=padding, dilation=dilation))
        self.chomp2 = Chomp1d(padding)
        self.relu2 = nn.ReLU()
        self.dropout2 = nn.Dropout(dropout)
        self.net = nn.Sequential(self.conv1, self.chomp1, self.relu1, self.dropout1, self.conv2, self.chomp2, self.relu2, self.dropout2)
        self.downsample = nn.Conv1d(n_inputs, n_outputs, 1) if n_inputs != n_outputs else None
        self.relu = nn.ReLU()

    def forward(self, x):
        out = self.net(x)
        res = x if self.downsample is None else self.downsample(x)
        return self.relu(out + res)


class TCN(nn.Module):
    def __init__(self, num_inputs, num_channels, kernel_size=2, dropout=0.2):
        super().__init__()
        layers = []
        for i, out_channels in enumerate(num_channels):
            dilation = 2 ** i
            cin = num_inputs if i == 0 else num_channels[i - 1]
            layers += [TemporalBlock(cin, out_channels, kernel_size, stride=1, dilation=dilation, padding=(kernel_size - 1) * dilation, dropout=dropout)]
        self.network = nn.Sequential(*layers)
        self.linear = nn.Linear(num_channels[-1], 2)

    def forward(self, x):
        return self.linear(self.network(x)[:, :, -1])


class GatedResidual(nn.Module):
    def __init__(self, ch, dilation):
        super().__init__()
        self.conv = nn.Conv1d(ch, 2 * ch, 2, dilation=dilation)
        self.res, self.skip = nn.Conv1d(ch, ch, 1), nn.Conv1d(ch, ch, 1)
        self.dilation = dilation

    def forward(self, x):
        h = F.glu(self.conv(F.pad(x, (self.dilation, 0))), dim=1)
        return self.res(h) + x, self.skip(h)


class WaveNet(nn.Module):
    def __init__(self, ch=4, layers=3):
        super().__init__()
        self.inp = nn.Conv1d(1, ch, 1)
        self.blocks = nn.ModuleList(GatedResidual(ch, 2 ** i) for i in range(layers))
        self.out = nn.Sequential(nn.ReLU(), nn.Conv1d(ch, ch, 1), nn.ReLU(), nn.Conv1d(ch, 8, 1))

    def forward(self, x):
        x = self.inp(x)
        skips = 0
        for block in self.blocks:
            x, s = block(x)
            skips = skips + s
        return self.out(skips)


torch.manual_seed(0)
net = TCN(2, [4, 4], kernel_size=3)
f = torch.compile(net)
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
x, y = torch.randn(3, 2, 12), torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
for i in range(2):
    loss = F.huber_loss(f(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, f"{loss.item():.5f}")
print([n for n, _ in net.network[0].conv1.named_parameters()])
wave = WaveNet()
g = torch.compile(wave)
sig = torch.sin(torch.arange(16.0)).view(1, 1, -1)
mu = 7.0
quant = (torch.sign(sig) * torch.log1p(mu * sig.abs()) / torch.log1p(torch.tensor(mu)) * 3.5 + 4).long().clamp(0, 7)
loss = F.cross_entropy(g(sig)[:, :, :-1], quant[:, 0, 1:])
loss.backward()
print(f"{loss.item():.4f}", wave.inp.weight.grad.abs().sum().item() > 0)
