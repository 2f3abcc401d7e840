# Vision: ResNet-ish with EMA, mixup, label smoothing, channels_last, hooks collecting activations
import torch, torch.nn as nn, torch.nn.functional as F
from collections import OrderedDict, defaultdict
torch.manual_seed(3)
class SE(nn.Module):
    def __init__(self, c, r=4):
        super().__init__()
        self.fc = nn.Sequential(OrderedDict([("squeeze", nn.Conv2d(c, c // r, 1)), ("act", nn.SiLU(inplace=True)), ("excite", nn.Conv2d(c // r, c, 1)), ("gate", nn.Hardsigmoid())]))
    def forward(self, x):
        return x * self.fc(F.adaptive_avg_pool2d(x, 1))
class DropPath(nn.Module):
    def __init__(self, p): super().__init__(); self.p = p
    def forward(self, x):
        if not self.training or self.p == 0.0: return x
        keep = 1 - self.p
        mask = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep)
        return x * mask.div_(keep)
    def extra_repr(self): return f"p={self.p}"
class Block(nn.Module):
    expansion = 2
    def __init__(self, cin, c, stride=1, p=0.1):
        super().__init__()
        cout = c * self.expansion
        self.conv1 = nn.Conv2d(cin, c, 1, bias=False); self.bn1 = nn.BatchNorm2d(c)
        self.conv2 = nn.Conv2d(c, c, 3, stride, 1, groups=2, bias=False); self.bn2 = nn.BatchNorm2d(c)
        self.conv3 = nn.Conv2d(c, cout, 1, bias=False); self.bn3 = nn.BatchNorm2d(cout)
        self.se, self.drop = SE(cout), DropPath(p)
        self.down = nn.Sequential(nn.AvgPool2d(2, 2) if stride == 2 else nn.Identity(), nn.Conv2d(cin, cout, 1, bias=False), nn.BatchNorm2d(cout)) if stride != 1 or cin != cout else None
        nn.init.zeros_(self.bn3.weight)
    def forward(self, x):
        idt = x if self.down is None else self.down(x)
        o = F.relu(self.bn1(self.conv1(x)), inplace=True)
        o = F.relu_(self.bn2(self.conv2(o)))
        o = self.drop(self.se(self.bn3(self.conv3(o))))
        o += idt
        return F.relu(o)
class Net(nn.Module):
    def __init__(self, n=5):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.layers = nn.Sequential(Block(8, 8), Block(16, 8), Block(16, 16, 2))
        self.head = nn.Linear(32, n)
        for m in self.modules():
            if isinstance(m, nn.Conv2d): nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
    def forward(self, x):
        x = self.layers(self.stem(x))
        return self.head(torch.flatten(F.dropout(x.mean((2, 3)), 0.2, self.training), 1))
net = Net().to(memory_format=torch.channels_last)
print(net.layers[2])
stats = defaultdict(list)
handles = [m.register_forward_hook(lambda mod, i, o, name=n: stats[name].append(tuple(o.shape))) for n, m in net.named_modules() if isinstance(m, Block)]
net(torch.randn(2, 3, 16, 16)); print(dict(stats))
for h in handles: h.remove()
ema = {k: v.clone() for k, v in net.state_dict().items()}
opt = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 0.1, total_steps=5)
crit = nn.CrossEntropyLoss(label_smoothing=0.1)
@torch.compile
def step(x, y, lam, perm):
    x = lam * x + (1 - lam) * x[perm]
    out = net(x)
    return lam * crit(out, y) + (1 - lam) * crit(out, y[perm]), out
for i in range(5):
    x = torch.randn(4, 3, 16, 16).contiguous(memory_format=torch.channels_last); y = torch.randint(0, 5, (4,))
    lam = torch.distributions.Beta(0.4, 0.4).sample()
    loss, out = step(x, y, lam, torch.randperm(4))
    opt.zero_grad(); loss.backward(); opt.step(); sched.step()
    with torch.no_grad():
        for k, v in net.state_dict().items():
            if v.dtype.is_floating_point: ema[k].mul_(0.9).add_(v, alpha=0.1)
            else: ema[k].copy_(v)
    print(i, f"{loss.item():.4f}", f"{sched.get_last_lr()[0]:.4f}", out.argmax(1).tolist())
net.eval(); net.load_state_dict(ema)
with torch.no_grad(): print(torch.compile(net)(torch.ones(1, 3, 16, 16)).softmax(-1))
