import torch
import torch.nn as nn
import torch.nn.functional as F


def squash(x, dim=-1):
    squared_norm = (x ** 2).sum(dim=dim, keepdim=True)
    scale = squared_norm / (1 + squared_norm)
    return scale * x / (squared_norm.sqrt() + 1e-8)


class PrimaryCaps(nn.Module):
    def __init__(self, num_conv_units, in_channels, out_channels, kernel_size, stride):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels * num_conv_units, kernel_size=kernel_size, stride=stride)
        self.out_channels = out_channels

    def forward(self, x):
        out = self.conv(x)
        batch_size = out.shape[0]
        return squash(out.contiguous().view(batch_size, -1, self.out_channels), dim=-1)


class DigitCaps(nn.Module):
    def __init__(self, in_dim, in_caps, num_caps, dim_caps, num_routing):
        super().__init__()
        self.num_caps = num_caps
        self.num_routing = num_routing
        self.W = nn.Parameter(0.01 * torch.randn(1, num_caps, in_caps, dim_caps, in_dim), requires_grad=True)

    def forward(self, x):
        batch_size = x.size(0)
        x = x.unsqueeze(1).unsqueeze(4)
        u_hat = torch.matmul(self.W, x).squeeze(-1)
        temp_u_hat = u_hat.detach()
        b = torch.zeros(batch_size, self.num_caps, u_hat.size(2), 1)
        for route_iter in range(self.num_routing - 1):
            c = b.softmax(dim=1)
            s = (c * temp_u_hat).sum(dim=2)
            v = squash(s)
            uv = torch.matmul(temp_u_hat, v.unsqueeze(-1))
            b += uv
        c = b.softmax(dim=1)
        s = (c * u_hat).sum(dim=2)
        return squash(s)


class CapsNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 5)
        self.relu = nn.ReLU(inplace=True)
        self.primary_caps = PrimaryCaps(num_conv_units=2, in_channels=8, out_channels=4, kernel_size=3, stride=2)
        self.digit_caps = DigitCaps(in_dim=4, in_caps=18, num_caps=3, dim_caps=6, num_routing=3)
        self.decoder = nn.Sequential(nn.Linear(6 * 3, 16), nn.ReLU(inplace=True), nn.Linear(16, 121), nn.Sigmoid())

    def forward(self, x):
        out = self.relu(self.conv(x))
        out = self.primary_caps(out)
        out = self.digit_caps(out)
        logits = torch.norm(out, dim=-1)
        pred = torch.eye(3).index_select(dim=0, index=torch.argmax(logits, dim=1))
        reconstruction = self.decoder((out * pred.unsqueeze(2)).contiguous().view(out.size(0), -1))
        return logits, reconstruction


class CapsuleLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.upper, self.lower, self.lmda = 0.9, 0.1, 0.5
        self.mse = nn.MSELoss(reduction="sum")

    def forward(self, images, labels, logits, reconstructions):
        left = (self.upper - logits).relu() ** 2
        right = (logits - self.lower).relu() ** 2
        margin = torch.sum(labels * left) + self.lmda * torch.sum((1 - labels) * right)
        return (margin + 0.0005 * self.mse(reconstructions.contiguous().view(images.shape), images)) / images.size(0)


torch.manual_seed(9)
model = CapsNet()
print(model)
fn = torch.compile(model)
criterion = CapsuleLoss()
optimizer = torch.optim.NAdam(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.96)
x = torch.rand(3, 1, 11, 11)
labels = torch.eye(3).index_select(dim=0, index=torch.tensor([0, 2, 1]))
for i in range(3):
    optimizer.zero_grad()
    logits, rec = fn(x)
    loss = criterion(x, labels, logits, rec)
    loss.backward()
    optimizer.step()
    scheduler.step()
    print(i, f"{loss.item():.5f}", logits.argmax(1).tolist(), f"{scheduler.get_last_lr()[0]:.5f}")
