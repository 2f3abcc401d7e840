"""A small Trainer with callbacks, a registry, checkpoints in memory, early stopping, metric logging: Python around compiled steps."""
import abc
import collections
import copy
import enum
import functools
import io
import itertools
import json
import logging
import math
import random
import sys
import textwrap
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import PurePath

import torch
import torch.nn as nn
import torch.nn.functional as F

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("trainer")
MODELS = {}


def register(name=None):
    def deco(cls):
        MODELS[name or cls.__name__.lower()] = cls
        return cls
    return deco


class Phase(enum.Enum):
    TRAIN = "train"
    EVAL = "eval"


@dataclass
class Args:
    lr: float = 0.05
    epochs: int = 4
    patience: int = 2
    accum: int = 2
    betas: tuple = (0.9, 0.99)
    seed: int = field(default=0, repr=False)


class Callback(abc.ABC):
    def on_epoch_end(self, trainer, metrics): ...
    def on_fit_end(self, trainer): ...


class EarlyStopping(Callback):
    def __init__(self, patience, min_delta=1e-3):
        self.patience, self.min_delta, self.best, self.wait = patience, min_delta, math.inf, 0

    def on_epoch_end(self, trainer, metrics):
        if metrics["eval/loss"] < self.best - self.min_delta:
            self.best, self.wait = metrics["eval/loss"], 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                trainer.should_stop = True


class Checkpoint(Callback):
    def __init__(self):
        self.blobs = collections.OrderedDict()

    def on_epoch_end(self, trainer, metrics):
        buf = io.BytesIO()
        torch.save({"model": trainer.model.state_dict(), "opt": trainer.opt.state_dict(), "epoch": trainer.epoch}, buf)
        self.blobs[str(PurePath("ckpt") / f"epoch={trainer.epoch:02d}.pt")] = buf.getvalue()
        while len(self.blobs) > 2:
            self.blobs.popitem(last=False)


class Meter:
    def __init__(self):
        self.sums = collections.defaultdict(lambda: [0.0, 0])

    def update(self, n=1, **kw):
        for k, v in kw.items():
            s = self.sums[k]
            s[0] += float(v) * n
            s[1] += n

    def compute(self, prefix):
        return {f"{prefix}/{k}": s / n for k, (s, n) in sorted(self.sums.items())}


@register("mlp")
class MLP(nn.Module):
    def __init__(self, dims, act=nn.ReLU, p=0.0):
        super().__init__()
        pairs = list(itertools.pairwise(dims))
        layers = itertools.chain.from_iterable((nn.Linear(a, b), act(), nn.Dropout(p)) for a, b in pairs[:-1])
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(*pairs[-1])

    def forward(self, x):
        return self.head(self.body(x))

    def extra_repr(self):
        return f"params={sum(p.numel() for p in self.parameters())}"


@contextmanager
def phase(model, which: Phase):
    was = model.training
    model.train(which is Phase.TRAIN)
    try:
        yield
    finally:
        model.train(was)


class Trainer:
    def __init__(self, model, args, callbacks=()):
        self.model, self.args, self.callbacks = model, args, list(callbacks)
        self.opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=args.betas)
        self.should_stop, self.epoch, self.history = False, 0, []
        self.step_fn = torch.compile(self._loss)

    def _loss(self, batch):
        out = self.model(batch["x"])
        return F.cross_entropy(out, batch["y"]), (out.argmax(-1) == batch["y"]).float().mean()

    def call(self, hook, *args):
        for cb in self.callbacks:
            getattr(cb, hook)(self, *args)

    def run(self, data, which):
        meter = Meter()
        with phase(self.model, which), nullcontext() if which is Phase.TRAIN else torch.no_grad():
            for i, batch in enumerate(data, 1):
                loss, acc = self.step_fn(batch)
                if which is Phase.TRAIN:
                    (loss / self.args.accum).backward()
                    if i % self.args.accum == 0 or i == len(data):
                        self.opt.step()
                        self.opt.zero_grad()
                meter.update(n=len(batch["y"]), loss=loss, acc=acc)
        return meter.compute(which.value)

    def fit(self, train, val):
        for self.epoch in range(self.args.epochs):
            metrics = self.run(train, Phase.TRAIN) | self.run(val, Phase.EVAL)
            self.history.append(metrics)
            log.info("epoch %d %s", self.epoch, json.dumps({k: round(v, 4) for k, v in metrics.items()}, sort_keys=True))
            self.call("on_epoch_end", metrics)
            if self.should_stop:
                log.warning("stopping early")
                break
        self.call("on_fit_end")
        return self


args = Args()
random.seed(args.seed)
torch.manual_seed(args.seed)
centers = torch.randn(3, 4) * 2


def batches(n, size=8):
    for _ in range(n):
        y = torch.tensor(random.choices(range(3), k=size))
        yield {"x": centers[y] + torch.randn(size, 4), "y": y}


model = MODELS["mlp"]((4, 8, 8, 3), p=0.1)
print(model, args, sep="\n")
ckpt = Checkpoint()
t = Trainer(model, args, [EarlyStopping(args.patience), ckpt]).fit(list(batches(5)), list(batches(2)))
print(list(ckpt.blobs))
state = torch.load(io.BytesIO(next(reversed(ckpt.blobs.values()))), weights_only=True)
clone = copy.deepcopy(model)
with torch.no_grad():
    for p in clone.parameters():
        p.zero_()
print(clone.load_state_dict(state["model"]), state["epoch"], sorted(state["opt"]["param_groups"][0])[:4])
same = all(torch.equal(a, b) for a, b in zip(clone.state_dict().values(), model.state_dict().values()))
print(textwrap.indent(f"restored: {same}\nbest: {min(h['eval/loss'] for h in t.history):.4f}", "  > "))
print(functools.reduce(lambda a, b: a + b["train/acc"], t.history, 0.0) / len(t.history) > 0.5)
