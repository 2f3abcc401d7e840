import collections

import torch

seen = collections.Counter()
groups = collections.defaultdict(int)
window = collections.deque([1, 2], maxlen=8)


@torch.compile
def count(x, tag):
    seen[tag] += 1
    return x * seen[tag]


for tag in ("a", "b", "a", "a"):
    count(torch.ones(2), tag)


@torch.compile
def grouped(x):
    groups["n"] += 1
    return x + groups["n"]


for _ in range(3):
    grouped(torch.ones(2))


@torch.compile
def newest(x):
    window.append(3)
    return x * window[0] + len(window)


for _ in range(3):
    newest(torch.ones(2))


@torch.compile
def total(x, given):
    return x * len(given) + sum(given.values())


total(torch.ones(2), collections.OrderedDict(a=1))
total(torch.ones(2), {"a": 1})
total(torch.ones(2), {"a": 2})
