import math
from collections import OrderedDict
import torch
from torch import nn, Tensor
import torch.nn.functional as F
torch.manual_seed(1)

def _make_divisible(v: float, divisor: int, min_value=None) -> int:
    if min_value is None:
        min_value = divisor
    new_v = max(min_value, int(v + divisor / 2) // divisor * divisor)
    if new_v < 0.9 * v:
        new_v += divisor
    return new_v

class ConvNormActivation(nn.Sequential):
    def __init__(self, i, o, k=3, s=1, g=1, norm=nn.BatchNorm2d, act=nn.ReLU, dilation=1):
        layers = [nn.Conv2d(i, o, k, s, (k - 1) // 2 * dilation, dilation=dilation, groups=g, bias=norm is None)]
        if norm is not None:
            layers.append(norm(o))
        if act is not None:
            layers.append(act(inplace=True))
        super().__init__(*layers)
        self.out_channels = o

class SqueezeExcitation(nn.Module):
    def __init__(self, c, sq, activation=nn.ReLU, scale_activation=nn.Sigmoid):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(c, sq, 1)
        self.fc2 = nn.Conv2d(sq, c, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()
    def _scale(self, input: Tensor) -> Tensor:
        scale = self.avgpool(input)
        scale = self.activation(self.fc1(scale))
        return self.scale_activation(self.fc2(scale))
    def forward(self, input):
        return self._scale(input) * input

class BottleneckTransform(nn.Sequential):
    def __init__(self, w_in, w_out, stride, group_width, se_ratio):
        layers = OrderedDict()
        w_b = w_out
        g = w_b // group_width
        layers["a"] = ConvNormActivation(w_in, w_b, 1)
        layers["b"] = ConvNormActivation(w_b, w_b, 3, stride, g)
        if se_ratio:
            layers["se"] = SqueezeExcitation(w_b, int(round(se_ratio * w_in)))
        layers["c"] = ConvNormActivation(w_b, w_out, 1, act=None)
        super().__init__(layers)

class ResBottleneckBlock(nn.Module):
    def __init__(self, w_in, w_out, stride, group_width=4, se_ratio=0.25):
        super().__init__()
        self.proj = None
        if (w_in != w_out) or (stride != 1):
            self.proj = ConvNormActivation(w_in, w_out, 1, stride, act=None)
        self.f = BottleneckTransform(w_in, w_out, stride, group_width, se_ratio)
        self.activation = nn.ReLU(inplace=True)
    def forward(self, x):
        if self.proj is not None:
            x = self.proj(x) + self.f(x)
        else:
            x = x + self.f(x)
        return self.activation(x)

class AnyStage(nn.Sequential):
    def __init__(self, w_in, w_out, stride, depth, idx):
        super().__init__()
        for i in range(depth):
            self.add_module(f"block{idx}-{i}", ResBottleneckBlock(w_in if i == 0 else w_out, w_out, stride if i == 0 else 1))

class RegNet(nn.Module):
    def __init__(self, widths=(8, 16), depths=(1, 2), num_classes=6):
        super().__init__()
        self.stem = ConvNormActivation(3, 8, 3, 2)
        blocks, cur = [], 8
        for i, (w, d) in enumerate(zip(widths, depths)):
            blocks.append((f"block{i+1}", AnyStage(cur, w, 2, d, i + 1)))
            cur = w
        self.trunk_output = nn.Sequential(OrderedDict(blocks))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(cur, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                fan_out = m.kernel_size[0] * m.kernel_size[1] * m.out_channels
                nn.init.normal_(m.weight, mean=0.0, std=math.sqrt(2.0 / fan_out))
                if m.bias is not None:
                    nn.init.zeros_(m.bias)
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0.0, std=0.01)
                nn.init.zeros_(m.bias)
    def forward(self, x):
        return self.fc(self.avgpool(self.trunk_output(self.stem(x))).flatten(start_dim=1))

print([_make_divisible(v, 8) for v in (3, 12.5, 17, 30)])
model = RegNet().to(memory_format=torch.channels_last)
model = torch.compile(model)
ema = torch.optim.swa_utils.AveragedModel(model, avg_fn=lambda a, p, n: 0.9 * a + 0.1 * p)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
warm = torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.1, total_iters=2)
cos = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=4)
sched = torch.optim.lr_scheduler.SequentialLR(opt, [warm, cos], milestones=[2])
for it in range(3):
    x = torch.randn(4, 3, 16, 16).contiguous(memory_format=torch.channels_last)
    y = torch.randint(0, 6, (4,))
    out = model(x)
    loss = F.cross_entropy(out, y, label_smoothing=0.1)
    opt.zero_grad(); loss.backward(); opt.step(); sched.step()
    ema.update_parameters(model)
    print(it, f"{loss.item():.4f}", f"{opt.param_groups[0]['lr']:.4f}", ema.n_averaged.item())
print(list(ema.state_dict())[1][:40])
