"""Weight averaging, clipping, accumulation, checkpoints in memory, logging and argparse."""
import argparse
import copy
import io
import json
import logging
import math
import sys
from collections import OrderedDict, defaultdict
from contextlib import contextmanager
from functools import partial

import torch
import torch.nn as nn
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn


def get_args(argv=None):
    parser = argparse.ArgumentParser(description="train")
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--accum", type=int, default=2)
    parser.add_argument("--no-ema", dest="ema", action="store_false")
    return parser.parse_args(argv)


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {n: p.clone().detach() for n, p in model.named_parameters() if p.requires_grad}
        self.backup = {}

    @torch.no_grad()
    def update(self, model):
        for name, param in model.named_parameters():
            if param.requires_grad:
                self.shadow[name].mul_(self.decay).add_(param.detach(), alpha=1 - self.decay)

    @contextmanager
    def average_parameters(self, model):
        self.backup = {n: p.data.clone() for n, p in model.named_parameters()}
        for name, param in model.named_parameters():
            param.data.copy_(self.shadow[name])
        try:
            yield
        finally:
            for name, param in model.named_parameters():
                param.data.copy_(self.backup[name])


class AverageMeter:
    def __init__(self, name, fmt=":f"):
        self.name, self.fmt = name, fmt
        self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(1, self.count)

    def __str__(self):
        return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(name=self.name, val=self.val, avg=self.avg)


logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
log = logging.getLogger("train")
args = get_args([])
log.info("args: %s", json.dumps(vars(args), sort_keys=True))
torch.manual_seed(3)
model = nn.Sequential(OrderedDict(fc1=nn.Linear(4, 8), bn=nn.BatchNorm1d(8), act=nn.GELU(approximate="tanh"), fc2=nn.Linear(8, 2)))
swa_model = AveragedModel(model)
ema_model = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
ema = EMA(model, 0.9)
opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
swa_sched = SWALR(opt, swa_lr=0.01, anneal_epochs=2)
forward = torch.compile(model)
data = [(torch.randn(6, 4), torch.randint(0, 2, (6,))) for _ in range(4)]
history = defaultdict(list)
for epoch in range(args.epochs):
    meter = AverageMeter("loss", ":.4f")
    for i, (x, y) in enumerate(data):
        loss = nn.functional.cross_entropy(forward(x), y) / args.accum
        loss.backward()
        meter.update(loss.item(), len(x))
        if (i + 1) % args.accum == 0:
            norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)
            history["norm"].append(round(norm.item(), 4))
            opt.step()
            opt.zero_grad()
            ema.update(model)
            ema_model.update_parameters(model)
    if epoch >= 2:
        swa_model.update_parameters(model)
        swa_sched.step()
    log.info("epoch %d %s lr %.4f", epoch, meter, opt.param_groups[0]["lr"])
print(dict(history))
update_bn(data, swa_model)
print(swa_model.n_averaged, f"{swa_model.module.fc1.weight.sum():.4f} {ema_model.module.fc2.bias.sum():.4f}")
with ema.average_parameters(model):
    print(f"{model.fc1.weight.sum():.4f}")
buffer = io.BytesIO()
torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": 3}, buffer)
buffer.seek(0)
ckpt = torch.load(buffer, weights_only=True)
fresh = copy.deepcopy(model)
for p in fresh.parameters():
    nn.init.constant_(p, 0.5)
print(fresh.load_state_dict(ckpt["model"]), ckpt["epoch"], list(ckpt["opt"]["state"][0]))
torch.testing.assert_close(fresh(data[0][0]), model(data[0][0]))
try:
    fresh.load_state_dict({"fc1.weight": torch.zeros(3, 4)})
except RuntimeError as e:
    print(str(e)[:120])
print(sum(map(partial(math.prod), (p.shape for p in model.parameters()))))
