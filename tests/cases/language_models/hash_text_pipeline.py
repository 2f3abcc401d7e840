"""Text classification: a vocabulary from scratch, an iterable data set, embedding bags, n-grams, metrics by hand, files of checkpoints."""
import argparse
import collections
import csv
import hashlib
import io
import json
import logging
import os
import random
import re
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, Optional, Tuple, Union

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, IterableDataset, BatchSampler, Sampler, get_worker_info

LOG = logging.getLogger(__name__)
logging.basicConfig(format="[%(levelname)s] %(message)s", level=logging.INFO, handlers=[logging.StreamHandler(sys.stdout)])

CORPUS = """label,text
1,The film was a delight from start to finish
0,A dull and lifeless story that never ends
1,Wonderful acting and a clever script!
0,I wanted my money back
1,"Funny, warm and beautifully shot"
0,"Bad jokes, worse acting"
1,One of the best films this year
0,The plot makes no sense at all
"""


@dataclass(frozen=True)
class Config:
    dim: int = 12
    epochs: int = 3
    lr: float = 0.5
    batch: int = 4
    buckets: int = 64
    ngrams: int = 2
    out: Optional[str] = None
    tags: List[str] = field(default_factory=lambda: ["toy"])


class Vocab:
    def __init__(self, counter: collections.Counter, specials=("<pad>", "<unk>"), min_freq=1):
        self.itos = list(specials) + sorted((w for w, c in counter.items() if c >= min_freq), key=lambda w: (-counter[w], w))
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    def __len__(self) -> int:
        return len(self.itos)

    def __getitem__(self, w: str) -> int:
        return self.stoi.get(w, 1)

    def __call__(self, ws: Iterable[str]) -> List[int]:
        return [self[w] for w in ws]


def tokenize(text: str) -> List[str]:
    return re.findall(r"[a-z]+|[!?.,]", text.lower())


def ngrams(tokens: List[str], n: int) -> Iterator[str]:
    for k in range(2, n + 1):
        yield from (" ".join(tokens[i : i + k]) for i in range(len(tokens) - k + 1))


def bucket(gram: str, buckets: int) -> int:
    return int(hashlib.md5(gram.encode("utf-8")).hexdigest(), 16) % buckets


class Reviews(Dataset):
    def __init__(self, path: Union[str, Path], vocab: Optional[Vocab] = None, cfg: Config = Config()):
        with open(path, newline="", encoding="utf-8") as f:
            self.rows = [(int(r["label"]), tokenize(r["text"])) for r in csv.DictReader(f)]
        self.vocab = vocab or Vocab(collections.Counter(w for _, t in self.rows for w in t))
        self.cfg = cfg

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        label, tokens = self.rows[i]
        ids = self.vocab(tokens) + [len(self.vocab) + bucket(g, self.cfg.buckets) for g in ngrams(tokens, self.cfg.ngrams)]
        return torch.tensor(ids), label


class ByLength(Sampler[List[int]]):
    def __init__(self, data: Reviews, batch: int):
        self.batches = [b for b in BatchSampler(sorted(range(len(data)), key=lambda i: len(data[i][0])), batch, drop_last=False)]

    def __iter__(self):
        order = self.batches[:]
        random.shuffle(order)
        return iter(order)

    def __len__(self):
        return len(self.batches)


def collate(batch: List[Tuple[torch.Tensor, int]]):
    texts, labels = zip(*batch)
    offsets = torch.tensor([0] + [len(t) for t in texts[:-1]]).cumsum(dim=0)
    return torch.cat(texts), offsets, torch.tensor(labels)


class Stream(IterableDataset):
    def __init__(self, data):
        self.data = data

    def __iter__(self):
        assert get_worker_info() is None
        for ids, label in self.data:
            if len(ids) > 4:
                yield ids.sum(), label


class FastText(nn.Module):
    def __init__(self, n: int, cfg: Config):
        super().__init__()
        self.embedding = nn.EmbeddingBag(n, cfg.dim, mode="mean")
        self.fc = nn.Linear(cfg.dim, 2)
        for name, p in self.named_parameters():
            if "weight" in name:
                nn.init.uniform_(p, -0.5, 0.5)
            else:
                p.data.zero_()

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


def prf(pred: torch.Tensor, gold: torch.Tensor) -> Dict[str, float]:
    tp = ((pred == 1) & (gold == 1)).sum().item()
    fp = ((pred == 1) & (gold == 0)).sum().item()
    fn = ((pred == 0) & (gold == 1)).sum().item()
    p, r = tp / max(tp + fp, 1), tp / max(tp + fn, 1)
    return dict(precision=p, recall=r, f1=2 * p * r / max(p + r, 1e-9))


def main(argv: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="fasttext", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--lr", type=float, default=0.5, help="learning rate")
    parser.add_argument("--mode", choices=["train", "eval"], default="train")
    args, rest = parser.parse_known_args(argv)
    random.seed(0)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        cfg = replace(Config(), lr=args.lr, out=folder)
        path = Path(folder) / "reviews.csv"
        path.write_text(CORPUS)
        data = Reviews(path, cfg=cfg)
        LOG.info("%d rows, %d words, config %s", len(data), len(data.vocab), {k: v for k, v in asdict(cfg).items() if k != "out"})
        model = FastText(len(data.vocab) + cfg.buckets, cfg)
        step = torch.compile(model, backend="aot_eager", dynamic=False)
        opt = torch.optim.SGD(model.parameters(), lr=cfg.lr)
        sched = torch.optim.lr_scheduler.StepLR(opt, 1, gamma=0.7)
        loader = DataLoader(data, batch_sampler=ByLength(data, cfg.batch), collate_fn=collate)
        history = []
        best = float("inf")
        for epoch in range(cfg.epochs):
            total = 0.0
            for text, offsets, labels in loader:
                opt.zero_grad()
                loss = F.cross_entropy(step(text, offsets), labels)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
                opt.step()
                total += loss.item() * len(labels)
            sched.step()
            history.append({"epoch": epoch, "loss": round(total / len(data), 5), "lr": sched.get_last_lr()[0]})
            if total < best:
                best = total
                torch.save({"state": model.state_dict(), "epoch": epoch, "best": best}, os.path.join(folder, "best.pt"))
        (Path(folder) / "history.json").write_text(json.dumps(history, indent=2))
        LOG.info("%s", (Path(folder) / "history.json").read_text().replace("\n", " "))
        state = torch.load(os.path.join(folder, "best.pt"))
        model.load_state_dict(state["state"])
        text, offsets, labels = collate([data[i] for i in range(len(data))])
        LOG.info("best epoch %d: %s", state["epoch"], prf(model(text, offsets).argmax(1), labels))
        LOG.info("%s", sorted(os.listdir(folder)))
    print([(int(s), l) for s, l in zip(*next(iter(DataLoader(Stream(data), batch_size=3))))])
    return 0


if __name__ == "__main__":
    code = main([])
    print("exit", code)
