#!/usr/bin/env python
# -*- coding: utf-8 -*-
"""A training script with all the usual plumbing."""
from __future__ import annotations

import abc
import argparse
import contextlib
import enum
import functools
import itertools
import json
import logging
import math
import os
import random
import re
import sys
import textwrap
import time
import warnings
from collections import ChainMap, Counter, OrderedDict, defaultdict
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, Dict, Generic, Iterator, List, Optional, Protocol, Sequence, Tuple, TypeVar, Union

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import BatchSampler, ConcatDataset, DataLoader, Dataset, IterableDataset, RandomSampler, SequentialSampler

try:
    import wandb
except ImportError:
    wandb = None

try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError:
    SummaryWriter = None

os.environ["TOKENIZERS_PARALLELISM"] = "false"
warnings.filterwarnings("ignore", category=UserWarning)
T = TypeVar("T")


class Split(str, enum.Enum):
    TRAIN = "train"
    VALID = "valid"

    @property
    def is_train(self) -> bool:
        return self is Split.TRAIN


class Activation(enum.IntEnum):
    RELU = enum.auto()
    GELU = enum.auto()


@dataclass
class OptimConfig:
    lr: float = 3e-3
    betas: Tuple[float, float] = (0.9, 0.99)
    warmup: int = 2


@dataclass
class Config:
    name: str = "toy"
    seed: int = 42
    widths: List[int] = field(default_factory=lambda: [8, 16])
    optim: OptimConfig = field(default_factory=OptimConfig)
    act: Activation = Activation.GELU
    notes: Optional[str] = None

    def __post_init__(self):
        if not self.widths:
            raise ValueError("no widths")
        self.depth = len(self.widths)


class Registry(Generic[T]):
    def __init__(self) -> None:
        self._items: Dict[str, T] = {}

    def register(self, name: Optional[str] = None) -> Callable[[T], T]:
        def wrap(item: T) -> T:
            self._items[name or item.__name__.lower()] = item
            return item
        return wrap

    def __getitem__(self, key: str) -> T:
        return self._items[key]

    def __contains__(self, key):
        return key in self._items


MODELS: Registry[type] = Registry()


class Metric(abc.ABC):
    @abc.abstractmethod
    def update(self, value: float, n: int = 1) -> None: ...

    @property
    @abc.abstractmethod
    def result(self) -> float: ...


class Mean(Metric):
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value, n=1):
        self.total += value * n
        self.count += n

    @property
    def result(self):
        return self.total / max(1, self.count)


class Callback(Protocol):
    def __call__(self, step: int, logs: Dict[str, Any]) -> None: ...


@contextlib.contextmanager
def timer(name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    elapsed = time.perf_counter() - start
    assert elapsed >= 0, name


@MODELS.register()
class MLP(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        dims = [4, *cfg.widths]
        act = {Activation.RELU: nn.ReLU, Activation.GELU: nn.GELU}[cfg.act]
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in itertools.pairwise(dims))
        self.act = act()
        self.out = nn.Linear(dims[-1], 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = self.act(layer(x))
        return self.out(x)


class XorDataset(Dataset):
    def __init__(self, n: int, split: Split):
        g = torch.Generator().manual_seed(0 if split.is_train else 1)
        self.x = torch.randn(n, 4, generator=g)
        self.y = ((self.x[:, 0] * self.x[:, 1]) > 0).long()

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int):
        return self.x[i], self.y[i]


class Stream(IterableDataset):
    def __iter__(self):
        for i in range(5):
            yield torch.full((2,), float(i))


@functools.lru_cache(maxsize=None)
def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def set_seed(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)


def get_args(argv: Sequence[str] = ()) -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", "-b", type=int, default=8)
    p.add_argument("--no-compile", action="store_true")
    p.add_argument("--tags", nargs="*", default=["a", "b"])
    return p.parse_args(list(argv))


def main(argv: Sequence[str] = ()) -> int:
    args = get_args(argv or ["-b", "6", "--tags", "x", "y"])
    logging.basicConfig(stream=sys.stdout, level=logging.DEBUG, format="[%(levelname)-5s] %(message)s", force=True)
    log = logging.getLogger("train")
    cfg = replace(Config(), notes="run")
    log.info("args %s", vars(args))
    log.debug(json.dumps(asdict(cfg), sort_keys=True))
    set_seed(cfg.seed)
    model = MODELS["mlp"](cfg)
    net = model if args.no_compile else torch.compile(model)
    data = ConcatDataset([XorDataset(9, Split.TRAIN), XorDataset(9, Split.VALID)])
    loader = DataLoader(data, batch_sampler=BatchSampler(RandomSampler(data), args.batch_size, drop_last=False))
    opt = torch.optim.NAdam(model.parameters(), lr=cfg.optim.lr, betas=cfg.optim.betas)
    sched = torch.optim.lr_scheduler.SequentialLR(opt, [
        torch.optim.lr_scheduler.LinearLR(opt, 0.1, 1.0, cfg.optim.warmup),
        torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=2),
    ], milestones=[cfg.optim.warmup])
    history: defaultdict[str, list] = defaultdict(list)
    for epoch in range(args.epochs):
        meter = Mean()
        with timer("epoch"):
            for x, y in loader:
                loss = F.cross_entropy(net(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
                sched.step()
                meter.update(loss.item(), len(x))
        history["loss"].append(round(meter.result, 4))
        log.info("epoch %d/%d loss=%.4f lr=%.6f", epoch + 1, args.epochs, meter.result, opt.param_groups[0]["lr"])
    print(dict(history), fib(30), Counter("mississippi").most_common(2))
    print(textwrap.shorten("the quick brown fox jumps over the lazy dog", 20), re.sub(r"(\w+)@(\w+)", r"\2 at \1", "me@home"))
    print(Path("runs") / cfg.name / "model.pt", Path("a/b.tar.gz").suffixes, os.path.join("x", "y"))
    print(ChainMap({"a": 1}, {"a": 2, "b": 3})["b"], wandb is None, repr(Split.VALID), Activation.GELU, Activation(1).name)
    print([b.tolist() for b in DataLoader(Stream(), batch_size=2)], list(SequentialSampler(range(3))))
    print(f"{math.pi:.3f} {1e6:,.0f} {255:#x} {0.256:.1%} {'left':<8}|{'right':>8}|{'mid':^8}|{42:08.3f}")
    return 0


if __name__ == "__main__":
    code = main()
    print("exit", code)
