"""Training tricks: gradient checkpointing, accumulation, SWA and EMA averaging, mixup, cutmix, label smoothing, warmup, clipping, early stopping."""
import math
import random
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
from torch.optim.swa_utils import AveragedModel, SWALR, get_ema_multi_avg_fn, update_bn
from torch.utils.data import TensorDataset, DataLoader, random_split, Subset, WeightedRandomSampler

torch.manual_seed(0)
random.seed(0)


class ResBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c))

    def forward(self, x):
        return F.relu(x + self.f(x))


class Net(nn.Module):
    def __init__(self, use_checkpoint=True, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(1, 6, 3, padding=1)
        self.blocks = nn.ModuleList([ResBlock(6) for _ in range(2)])
        self.head = nn.Linear(6, classes)
        self.use_checkpoint = use_checkpoint

    def forward(self, x):
        x = self.stem(x)
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=False) if self.use_checkpoint and self.training else b(x)
        return self.head(x.mean(dim=[-2, -1]))


def mixup(x, y, alpha=0.4):
    lam = torch.distributions.Beta(alpha, alpha).sample().item()
    idx = torch.randperm(x.size(0))
    return lam * x + (1 - lam) * x[idx], y, y[idx], lam


def rand_bbox(size, lam):
    W, H = size[2], size[3]
    cut_rat = math.sqrt(1.0 - lam)
    cut_w, cut_h = int(W * cut_rat), int(H * cut_rat)
    cx, cy = random.randint(0, W - 1), random.randint(0, H - 1)
    clip = lambda v, hi: max(0, min(v, hi))
    return clip(cx - cut_w // 2, W), clip(cy - cut_h // 2, H), clip(cx + cut_w // 2, W), clip(cy + cut_h // 2, H)


def cutmix(x, y):
    lam = random.betavariate(1.0, 1.0)
    idx = torch.randperm(x.size(0))
    x1, y1, x2, y2 = rand_bbox(x.size(), lam)
    x = x.clone()
    x[:, :, x1:x2, y1:y2] = x[idx, :, x1:x2, y1:y2]
    lam = 1 - (x2 - x1) * (y2 - y1) / (x.size(-1) * x.size(-2))
    return x, y, y[idx], lam


class LabelSmoothing(nn.Module):
    def __init__(self, smoothing=0.1):
        super().__init__()
        self.confidence, self.smoothing = 1.0 - smoothing, smoothing

    def forward(self, x, target):
        logprobs = F.log_softmax(x, dim=-1)
        nll_loss = -logprobs.gather(dim=-1, index=target.unsqueeze(1)).squeeze(1)
        smooth_loss = -logprobs.mean(dim=-1)
        return (self.confidence * nll_loss + self.smoothing * smooth_loss).mean()


class WarmupCosine(torch.optim.lr_scheduler.LRScheduler):
    def __init__(self, optimizer, warmup, total, min_ratio=0.1, last_epoch=-1):
        self.warmup, self.total, self.min_ratio = warmup, total, min_ratio
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch < self.warmup:
            return [b * (self.last_epoch + 1) / self.warmup for b in self.base_lrs]
        t = (self.last_epoch - self.warmup) / max(1, self.total - self.warmup)
        k = self.min_ratio + (1 - self.min_ratio) * 0.5 * (1 + math.cos(math.pi * t))
        return [b * k for b in self.base_lrs]


class EarlyStopping:
    def __init__(self, patience=2, delta=0.0):
        self.patience, self.delta, self.best, self.count, self.stop = patience, delta, None, 0, False

    def __call__(self, loss):
        if self.best is None or loss < self.best - self.delta:
            self.best, self.count = loss, 0
        else:
            self.count += 1
            self.stop = self.count >= self.patience
        return self.stop


def adaptive_clip(params, factor=0.01, eps=1e-3):
    for p in params:
        if p.grad is None or p.ndim < 2:
            continue
        dims = tuple(range(1, p.ndim))
        pn, gn = p.detach().norm(2, dim=dims, keepdim=True).clamp_(min=eps), p.grad.norm(2, dim=dims, keepdim=True)
        limit = pn * factor
        p.grad.copy_(torch.where(gn > limit, p.grad * (limit / gn.clamp(min=1e-6)), p.grad))


data = TensorDataset(torch.randn(22, 1, 6, 6), torch.randint(0, 4, (22,)))
train_set, val_set = random_split(data, [16, 6], generator=torch.Generator().manual_seed(1))
weights = torch.ones(16).index_fill_(0, torch.tensor([0, 3]), 5.0)
loader = DataLoader(train_set, batch_size=4, sampler=WeightedRandomSampler(weights, 16, replacement=True), drop_last=True)
val = DataLoader(val_set, batch_size=6)
net = Net()
compiled = torch.compile(net, backend="aot_eager")
decay, no_decay = [], []
for n, p in net.named_parameters():
    (no_decay if p.ndim == 1 else decay).append(p)
opt = torch.optim.SGD([{"params": decay, "weight_decay": 1e-3}, {"params": no_decay, "weight_decay": 0}], lr=0.1, momentum=0.9, nesterov=True)
sched = WarmupCosine(opt, 2, 8)
ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
swa, swa_sched = AveragedModel(net), SWALR(opt, swa_lr=0.02, anneal_epochs=2, anneal_strategy="linear")
criterion, stopper, accum = LabelSmoothing(), EarlyStopping(), 2
for epoch in range(3):
    net.train()
    opt.zero_grad()
    running = 0.0
    for i, (x, y) in enumerate(loader):
        x, ya, yb, lam = (mixup if i % 2 == 0 else cutmix)(x, y)
        out = compiled(x)
        loss = (lam * criterion(out, ya) + (1 - lam) * criterion(out, yb)) / accum
        loss.backward()
        running += loss.item()
        if (i + 1) % accum == 0:
            norm = nn.utils.clip_grad_norm_(net.parameters(), 2.0, error_if_nonfinite=True)
            adaptive_clip(net.parameters())
            opt.step()
            opt.zero_grad()
            ema.update_parameters(net)
    if epoch >= 1:
        swa.update_parameters(net)
        swa_sched.step()
    else:
        sched.step()
    net.eval()
    with torch.no_grad():
        vl = sum(F.cross_entropy(net(x), y).item() for x, y in val)
    print(f"epoch {epoch} train {running:.4f} val {vl:.4f} norm {norm:.4f} lrs {[round(g['lr'], 5) for g in opt.param_groups]} stop {stopper(vl)}")
update_bn(loader, swa)
print(swa.n_averaged, f"{swa(data[0][0][None]).sum().item():.4f}", f"{ema.module.head.weight.norm().item():.4f}")
seq = nn.Sequential(*[nn.Sequential(nn.Linear(5, 5), nn.Tanh()) for _ in range(4)])
x = torch.randn(2, 5, requires_grad=True)
checkpoint_sequential(seq, 2, x, use_reentrant=False).sum().backward()
print(x.grad.norm())
best = copy.deepcopy(net.state_dict())
torch.save({"model": best, "opt": opt.state_dict(), "epoch": 3}, "/tmp/ckpt.pt")
ck = torch.load("/tmp/ckpt.pt", weights_only=True)
print(net.load_state_dict(ck["model"]), ck["epoch"], sorted(ck), ck["opt"]["param_groups"][0]["lr"])
