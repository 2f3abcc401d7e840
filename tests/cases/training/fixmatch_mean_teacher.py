"""Semi-supervised learning: FixMatch with pseudo labels, MixMatch sharpening, mean teacher with ramp-up, virtual adversarial training."""
import argparse
import math
from copy import deepcopy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Subset, TensorDataset, RandomSampler, BatchSampler


class AverageMeter(object):
    """Computes and stores the average and current value"""

    def __init__(self):
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


class ModelEMA(object):
    def __init__(self, model, decay):
        self.ema = deepcopy(model)
        self.ema.eval()
        self.decay = decay
        self.param_keys = [k for k, _ in self.ema.named_parameters()]
        self.buffer_keys = [k for k, _ in self.ema.named_buffers()]
        for p in self.ema.parameters():
            p.requires_grad_(False)

    def update(self, model):
        with torch.no_grad():
            msd = model.state_dict()
            esd = self.ema.state_dict()
            for k in self.param_keys:
                model_v = msd[k].detach()
                ema_v = esd[k]
                esd[k].copy_(ema_v * self.decay + (1. - self.decay) * model_v)
            for k in self.buffer_keys:
                esd[k].copy_(msd[k])


def get_cosine_schedule_with_warmup(optimizer, num_warmup_steps, num_training_steps, num_cycles=7. / 16., last_epoch=-1):
    def _lr_lambda(current_step):
        if current_step < num_warmup_steps:
            return float(current_step) / float(max(1, num_warmup_steps))
        no_progress = float(current_step - num_warmup_steps) / float(max(1, num_training_steps - num_warmup_steps))
        return max(0., math.cos(math.pi * num_cycles * no_progress))
    return torch.optim.lr_scheduler.LambdaLR(optimizer, _lr_lambda, last_epoch)


def interleave(x, size):
    s = list(x.shape)
    return x.reshape([-1, size] + s[1:]).transpose(0, 1).reshape([-1] + s[1:])


def de_interleave(x, size):
    s = list(x.shape)
    return x.reshape([size, -1] + s[1:]).transpose(0, 1).reshape([-1] + s[1:])


def sigmoid_rampup(current, rampup_length):
    current = min(max(current, 0.0), rampup_length)
    phase = 1.0 - current / rampup_length
    return float(math.exp(-5.0 * phase * phase))


class WRNBlock(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.bn1 = nn.BatchNorm1d(cin, momentum=0.001)
        self.conv1 = nn.Conv1d(cin, cout, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm1d(cout, momentum=0.001)
        self.conv2 = nn.Conv1d(cout, cout, 3, 1, 1, bias=False)
        self.short = nn.Conv1d(cin, cout, 1, stride, bias=False) if cin != cout else None

    def forward(self, x):
        o = F.leaky_relu(self.bn1(x), 0.1)
        out = self.conv2(F.leaky_relu(self.bn2(self.conv1(o)), 0.1))
        return (x if self.short is None else self.short(o)) + out


parser = argparse.ArgumentParser(description='PyTorch FixMatch Training')
parser.add_argument('--mu', default=2, type=int, help='coefficient of unlabeled batch size')
parser.add_argument('--lambda-u', default=1, type=float)
parser.add_argument('--T', default=1, type=float)
parser.add_argument('--threshold', default=0.4, type=float)
parser.add_argument('--use-ema', action='store_true', default=True)
args = parser.parse_args(["--T", "0.8"])
print(dict(args._get_kwargs()))
torch.manual_seed(3)
y = torch.arange(60) % 3
x = torch.randn(60, 1, 16) * 0.3 + torch.sin(torch.linspace(0, 6, 16)[None, None] * (1 + y)[:, None, None].float())
labeled = Subset(TensorDataset(x, y), range(12))
unlabeled = TensorDataset(x[12:])
labeled_loader = DataLoader(labeled, batch_sampler=BatchSampler(RandomSampler(labeled), 4, True))
unlabeled_loader = DataLoader(unlabeled, batch_size=4 * args.mu, shuffle=True, drop_last=True)
model = nn.Sequential(nn.Conv1d(1, 8, 3, padding=1), WRNBlock(8, 12, 2), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(12, 3))
ema_model = ModelEMA(model, 0.9)
no_decay = ['bias', 'bn']
grouped = [
    {'params': [p for n, p in model.named_parameters() if not any(nd in n for nd in no_decay)], 'weight_decay': 5e-4},
    {'params': [p for n, p in model.named_parameters() if any(nd in n for nd in no_decay)], 'weight_decay': 0.0}]
print([len(g['params']) for g in grouped])
optimizer = torch.optim.SGD(grouped, lr=0.03, momentum=0.9, nesterov=True)
scheduler = get_cosine_schedule_with_warmup(optimizer, 1, 8)
fast = torch.compile(model, backend="aot_eager")
weak = lambda t: t + 0.05 * torch.randn_like(t)
strong = lambda t: F.dropout(t, 0.3) * (1 + 0.3 * torch.randn(t.shape[0], 1, 1))
lx, ls, lu, masks = (AverageMeter() for _ in range(4))
for step, ((inputs_x, targets_x), (inputs_u,)) in enumerate(zip(labeled_loader, unlabeled_loader)):
    batch_size = inputs_x.shape[0]
    inputs_u_w, inputs_u_s = weak(inputs_u), strong(inputs_u)
    inputs = interleave(torch.cat((inputs_x, inputs_u_w, inputs_u_s)), 2 * args.mu + 1)
    logits = de_interleave(fast(inputs), 2 * args.mu + 1)
    logits_x = logits[:batch_size]
    logits_u_w, logits_u_s = logits[batch_size:].chunk(2)
    Lx = F.cross_entropy(logits_x, targets_x, reduction='mean')
    pseudo_label = torch.softmax(logits_u_w.detach() / args.T, dim=-1)
    max_probs, targets_u = torch.max(pseudo_label, dim=-1)
    mask = max_probs.ge(args.threshold).float()
    Lu = (F.cross_entropy(logits_u_s, targets_u, reduction='none') * mask).mean()
    with torch.no_grad():
        teacher = F.softmax(ema_model.ema(inputs_u), -1)
    consistency = F.mse_loss(F.softmax(fast(inputs_u), -1), teacher) * sigmoid_rampup(step, 3)
    loss = Lx + args.lambda_u * Lu + consistency
    loss.backward()
    for meter, v in zip((lx, ls, lu, masks), (loss, Lx, Lu, mask.mean())):
        meter.update(v.item())
    optimizer.step()
    scheduler.step()
    ema_model.update(model)
    model.zero_grad()
    print(f"step {step}: loss {lx.val:.4f} (x {ls.val:.4f} u {lu.val:.4f}) mask {masks.avg:.3f} lr {scheduler.get_last_lr()[0]:.5f}")


def vat_loss(model, x, xi=1e-3, eps=1.0):
    with torch.no_grad():
        pred = F.softmax(model(x), dim=1)
    d = F.normalize(torch.rand(x.shape).sub(0.5).flatten(1)).view_as(x).requires_grad_()
    F.kl_div(F.log_softmax(model(x + xi * d), dim=1), pred, reduction="batchmean").backward()
    d = F.normalize(d.grad.flatten(1)).view_as(x)
    model.zero_grad()
    return F.kl_div(F.log_softmax(model(x + eps * d), dim=1), pred, reduction="batchmean")


model.eval()
print("vat", vat_loss(model, x[12:20]).item() > 0)
p = torch.softmax(model(x[:4]), 1) ** (1 / 0.5)
print((p / p.sum(dim=1, keepdim=True)).sum(1))
