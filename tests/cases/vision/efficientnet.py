import math
import torch
from torch import nn
from torch.nn import functional as F


class Swish(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)


class SwishImplementation(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i * torch.sigmoid(i)
        ctx.save_for_backward(i)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        i = ctx.saved_tensors[0]
        sigmoid_i = torch.sigmoid(i)
        return grad_output * (sigmoid_i * (1 + i * (1 - sigmoid_i)))


class MemoryEfficientSwish(nn.Module):
    def forward(self, x):
        return SwishImplementation.apply(x)


class SqueezeExcite(nn.Module):
    def __init__(self, channels, reduction=4):
        super().__init__()
        self.fc1 = nn.Conv2d(channels, max(1, channels // reduction), 1)
        self.fc2 = nn.Conv2d(max(1, channels // reduction), channels, 1)
        self.act = nn.SiLU(inplace=True)

    def forward(self, x):
        s = F.adaptive_avg_pool2d(x, 1)
        s = self.fc2(self.act(self.fc1(s)))
        return x * s.sigmoid()


def drop_connect(inputs, p, training):
    if not training:
        return inputs
    batch_size = inputs.shape[0]
    keep_prob = 1 - p
    random_tensor = keep_prob
    random_tensor += torch.rand([batch_size, 1, 1, 1], dtype=inputs.dtype, device=inputs.device)
    binary_tensor = torch.floor(random_tensor)
    return inputs / keep_prob * binary_tensor


class MBConv(nn.Module):
    def __init__(self, cin, cout, expand, k, stride, drop=0.2):
        super().__init__()
        mid = cin * expand
        self.drop = drop
        self.skip = stride == 1 and cin == cout
        self.expand = nn.Sequential(nn.Conv2d(cin, mid, 1, bias=False), nn.BatchNorm2d(mid, momentum=0.01, eps=1e-3), MemoryEfficientSwish()) if expand != 1 else nn.Identity()
        self.depth = nn.Sequential(nn.Conv2d(mid, mid, k, stride, k // 2, groups=mid, bias=False), nn.BatchNorm2d(mid, momentum=0.01, eps=1e-3), Swish())
        self.se = SqueezeExcite(mid)
        self.project = nn.Sequential(nn.Conv2d(mid, cout, 1, bias=False), nn.BatchNorm2d(cout, momentum=0.01, eps=1e-3))

    def forward(self, x):
        out = self.project(self.se(self.depth(self.expand(x))))
        if self.skip:
            out = drop_connect(out, self.drop, self.training) + x
        return out


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(3, 8, 3, stride=2, bias=False), nn.BatchNorm2d(8), nn.SiLU())
        self.blocks = nn.ModuleList([MBConv(8, 8, 1, 3, 1), MBConv(8, 12, 4, 5, 2), MBConv(12, 12, 4, 3, 1)])
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.3), nn.Linear(12, 4))

    def forward(self, x):
        x = self.stem(x)
        for idx, block in enumerate(self.blocks):
            x = block(x)
        return self.head(x)


torch.manual_seed(1)
net = Net()
f = torch.compile(net)
opt = torch.optim.RMSprop(net.parameters(), lr=0.01, alpha=0.9, eps=1e-3, momentum=0.9)
x = torch.randn(3, 3, 16, 16)
y = torch.tensor([0, 3, 1])
for it in range(2):
    out = f(x)
    loss = F.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, f"{loss.item():.4f}")
net.eval()
print(f(x).shape, net.blocks[1].se)
