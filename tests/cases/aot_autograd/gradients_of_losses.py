# A loss's gradient takes after how prediction and target lie: by channels, also where there is one channel.
import torch
import torch.nn.functional as F


@torch.compile
def losses(x, weight, target):
    y = F.conv2d(x, weight)
    return F.mse_loss(y, target) + F.huber_loss(y, target) + F.smooth_l1_loss(y, target) + F.soft_margin_loss(y, target)


x = torch.linspace(-1, 1, 96).view(2, 3, 4, 4).to(memory_format=torch.channels_last)
for channels in (1, 2):
    weight = torch.full((channels, 3, 1, 1), 0.1).to(memory_format=torch.channels_last).requires_grad_()
    losses(x, weight, torch.ones(2, channels, 4, 4)).backward()
    print(weight.grad)
