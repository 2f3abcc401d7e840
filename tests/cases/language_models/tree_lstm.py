"""Child-sum Tree-LSTM over parsed expressions, recursive; compiled node function; batched by depth."""
import re
from collections import namedtuple, defaultdict
import torch
import torch.nn as nn
import torch.nn.functional as F

Tree = namedtuple("Tree", ["label", "children"])


def parse(text):
    tokens = re.findall(r"\(|\)|[^\s()]+", text)

    def read(i):
        assert tokens[i] == "("
        label, i, children = tokens[i + 1], i + 2, []
        while tokens[i] != ")":
            child, i = read(i) if tokens[i] == "(" else (Tree(tokens[i], ()), i + 1)
            children.append(child)
        return Tree(label, tuple(children)), i + 1

    return read(0)[0]


def evaluate(tree):
    if not tree.children:
        return int(tree.label)
    values = [evaluate(c) for c in tree.children]
    return {"+": sum, "max": max, "min": min}[tree.label](values) % 3


class TreeLSTM(nn.Module):
    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.vocab = {w: i for i, w in enumerate(vocab)}
        self.embed = nn.Embedding(len(vocab), dim)
        self.iou = nn.Linear(2 * dim, 3 * dim)
        self.f_x = nn.Linear(dim, dim)
        self.f_h = nn.Linear(dim, dim, bias=False)
        self.out = nn.Linear(dim, classes)
        self.dim = dim
        self.node_forward = torch.compile(self.cell, backend="aot_eager", dynamic=True)

    def cell(self, x, child_h, child_c):
        h_sum = child_h.sum(1)
        i, o, u = self.iou(torch.cat([x, h_sum], dim=-1)).chunk(3, dim=-1)
        f = torch.sigmoid(self.f_h(child_h) + self.f_x(x).unsqueeze(1))
        c = torch.sigmoid(i) * torch.tanh(u) + (f * child_c).sum(1)
        return torch.sigmoid(o) * torch.tanh(c), c

    def forward(self, tree):
        states = [self(child) for child in tree.children]
        x = self.embed(torch.tensor([self.vocab[tree.label]]))
        if states:
            h = torch.stack([s[0] for s in states], dim=1)
            c = torch.stack([s[1] for s in states], dim=1)
        else:
            h = c = torch.zeros(1, 1, self.dim)
        return self.node_forward(x, h, c)

    def by_depth(self, trees):
        """All nodes of a height at once."""
        levels, height = defaultdict(list), {}

        def visit(t):
            for child in t.children:
                visit(child)
            height[id(t)] = 1 + max((height[id(c)] for c in t.children), default=-1)
            levels[height[id(t)]].append(t)

        for t in trees:
            visit(t)
        h, c = {}, {}
        for level in sorted(levels):
            nodes = levels[level]
            width = max(1, max(len(n.children) for n in nodes))
            zero = torch.zeros(self.dim)
            pad = lambda d: torch.stack([torch.stack([d[id(k)] for k in n.children] + [zero] * (width - len(n.children))) for n in nodes])
            x = self.embed(torch.tensor([self.vocab[n.label] for n in nodes]))
            hs, cs = self.cell(x, pad(h), pad(c))
            for n, hh, cc in zip(nodes, hs, cs):
                h[id(n)], c[id(n)] = hh, cc
        return torch.stack([h[id(t)] for t in trees])


torch.manual_seed(0)
sources = ["(+ 1 (max 0 2))", "(min (+ 1 1 2) 2)", "(max (min 1 2) (+ 2 2) 0)", "(+ 0 0)"]
trees = [parse(s) for s in sources]
labels = torch.tensor([evaluate(t) for t in trees])
print(trees[0], labels)
model = TreeLSTM(["+", "max", "min", "0", "1", "2"], 8, 3)
opt = torch.optim.Adagrad(model.parameters(), lr=0.1)
for epoch in range(3):
    total = 0
    for tree, label in zip(trees, labels):
        logits = model.out(model(tree)[0])
        loss = F.cross_entropy(logits, label.view(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / len(trees):.4f}")
with torch.no_grad():
    one_by_one = torch.cat([model(t)[0] for t in trees])
    together = model.by_depth(trees)
    print(together.shape, torch.allclose(one_by_one, together, atol=1e-6))
    print(model.out(together).argmax(-1), labels)
