"""Self-play on tic-tac-toe: a residual policy-value net, Monte Carlo tree search, a replay buffer, REINFORCE with a baseline, C51 and PER."""
from __future__ import annotations

import math
import random
from collections import deque, namedtuple, defaultdict
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Optional

import torch
from torch import nn, optim
import torch.nn.functional as F
from torch.distributions import Categorical

random.seed(0)
torch.manual_seed(0)


class Cell(IntEnum):
    EMPTY = 0
    X = 1
    O = -1


LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


class Game:
    def __init__(self, board=None, player=Cell.X):
        self.board = list(board) if board else [Cell.EMPTY] * 9
        self.player = player

    def legal(self):
        return [i for i, c in enumerate(self.board) if c == Cell.EMPTY]

    def play(self, a):
        b = self.board[:]
        b[a] = self.player
        return Game(b, Cell(-self.player))

    def winner(self) -> Optional[int]:
        for i, j, k in LINES:
            if self.board[i] and self.board[i] == self.board[j] == self.board[k]:
                return int(self.board[i])
        return 0 if not self.legal() else None

    def encode(self):
        t = torch.tensor([int(c) * int(self.player) for c in self.board], dtype=torch.float32).view(3, 3)
        return torch.stack([(t == 1).float(), (t == -1).float(), torch.ones(3, 3)])

    def __str__(self):
        return "/".join("".join({1: "X", -1: "O", 0: "."}[int(c)] for c in self.board[r * 3 : r * 3 + 3]) for r in range(3))


class Res(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c)
        self.c2, self.b2 = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c)

    def forward(self, x):
        y = F.relu(self.b1(self.c1(x)), inplace=True)
        y = self.b2(self.c2(y))
        y += x
        return F.relu(y)


class Net(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU())
        self.res = nn.Sequential(Res(c), Res(c))
        self.pi = nn.Sequential(nn.Conv2d(c, 2, 1), nn.Flatten(), nn.Linear(18, 9))
        self.v = nn.Sequential(nn.Conv2d(c, 1, 1), nn.Flatten(), nn.Linear(9, 16), nn.ReLU(), nn.Linear(16, 1), nn.Tanh())

    def forward(self, x):
        x = self.res(self.stem(x))
        return F.log_softmax(self.pi(x), dim=-1), self.v(x).squeeze(-1)


@dataclass
class Node:
    game: Game
    prior: float = 0.0
    n: int = 0
    w: float = 0.0
    children: dict[int, "Node"] = field(default_factory=dict)

    @property
    def q(self):
        return self.w / self.n if self.n else 0.0


def ucb(parent: Node, child: Node, c=1.5):
    return -child.q + c * child.prior * math.sqrt(parent.n + 1e-8) / (1 + child.n)


@torch.no_grad()
def search(net, root: Node, sims=12):
    for _ in range(sims):
        path, node = [root], root
        while node.children:
            node = max(node.children.values(), key=lambda ch: ucb(path[-1], ch))
            path.append(node)
        w = node.game.winner()
        if w is None:
            logp, v = net(node.game.encode()[None])
            p = logp[0].exp()
            legal = node.game.legal()
            z = p[legal].sum().item()
            for a in legal:
                node.children[a] = Node(node.game.play(a), p[a].item() / z)
            value = v.item()
        else:
            value = float(w * node.game.player)
        for node in reversed(path):
            node.n += 1
            node.w += value
            value = -value
    counts = torch.zeros(9)
    for a, ch in root.children.items():
        counts[a] = ch.n
    return counts / counts.sum()


Sample = namedtuple("Sample", "state policy player value", defaults=(None,))
net = Net()
optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
train_net = torch.compile(net, backend="aot_eager")
buffer = deque(maxlen=64)
for game_no in range(2):
    net.eval()
    game, moves = Game(), []
    while game.winner() is None:
        pi = search(net, Node(game))
        a = Categorical(pi).sample().item() if len(moves) < 2 else pi.argmax().item()
        moves.append(Sample(game.encode(), pi, game.player))
        game = game.play(a)
    result = game.winner()
    buffer.extend(m._replace(value=float(result * m.player)) for m in moves)
    net.train()
    batch = random.sample(list(buffer), k=4)
    s, p, v = torch.stack([b.state for b in batch]), torch.stack([b.policy for b in batch]), torch.tensor([b.value for b in batch])
    logp, value = train_net(s)
    policy_loss, value_loss = -(p * logp).sum(1).mean(), F.mse_loss(value, v)
    loss = policy_loss + value_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"game {game_no} {game} winner {result} pi {policy_loss.item():.4f} v {value_loss.item():.4f}")


class PrioritizedReplay:
    def __init__(self, capacity, alpha=0.6):
        self.capacity, self.alpha, self.data, self.pos = capacity, alpha, [], 0
        self.prios = torch.zeros(capacity)

    def push(self, *tr):
        p = self.prios.max().item() if self.data else 1.0
        if len(self.data) < self.capacity:
            self.data.append(tr)
        else:
            self.data[self.pos] = tr
        self.prios[self.pos] = p
        self.pos = (self.pos + 1) % self.capacity

    def sample(self, n, beta=0.4):
        probs = self.prios[: len(self.data)] ** self.alpha
        probs /= probs.sum()
        idx = torch.multinomial(probs, n, replacement=True)
        weights = (len(self.data) * probs[idx]) ** (-beta)
        weights /= weights.max()
        return [self.data[i] for i in idx.tolist()], idx, weights

    def update(self, idx, prios):
        self.prios[idx] = prios


class NoisyLinear(nn.Module):
    def __init__(self, i, o, std=0.4):
        super().__init__()
        self.i, self.o = i, o
        self.wm, self.ws = nn.Parameter(torch.FloatTensor(o, i)), nn.Parameter(torch.FloatTensor(o, i))
        self.bm, self.bs = nn.Parameter(torch.FloatTensor(o)), nn.Parameter(torch.FloatTensor(o))
        self.register_buffer("we", torch.FloatTensor(o, i))
        self.register_buffer("be", torch.FloatTensor(o))
        r = 1 / math.sqrt(i)
        self.wm.data.uniform_(-r, r)
        self.bm.data.uniform_(-r, r)
        self.ws.data.fill_(std / math.sqrt(i))
        self.bs.data.fill_(std / math.sqrt(o))
        self.reset_noise()

    def reset_noise(self):
        f = lambda n: (lambda x: x.sign().mul(x.abs().sqrt()))(torch.randn(n))
        ei, eo = f(self.i), f(self.o)
        self.we.copy_(eo.ger(ei))
        self.be.copy_(f(self.o))

    def forward(self, x):
        if self.training:
            return F.linear(x, self.wm + self.ws.mul(self.we), self.bm + self.bs.mul(self.be))
        return F.linear(x, self.wm, self.bm)


class Rainbow(nn.Module):
    def __init__(self, s=4, a=2, atoms=7, vmin=-2.0, vmax=2.0):
        super().__init__()
        self.a, self.atoms = a, atoms
        self.register_buffer("support", torch.linspace(vmin, vmax, atoms))
        self.fc, self.adv, self.val = nn.Linear(s, 16), NoisyLinear(16, a * atoms), NoisyLinear(16, atoms)

    def forward(self, x, log=False):
        h = F.relu(self.fc(x))
        v, a = self.val(h).view(-1, 1, self.atoms), self.adv(h).view(-1, self.a, self.atoms)
        q = v + a - a.mean(1, keepdim=True)
        return F.log_softmax(q, dim=2) if log else F.softmax(q, dim=2)


def project(nextp, rewards, dones, support, gamma=0.9):
    vmin, vmax, atoms = support[0].item(), support[-1].item(), support.numel()
    delta = (vmax - vmin) / (atoms - 1)
    tz = (rewards[:, None] + (1 - dones)[:, None] * gamma * support).clamp(vmin, vmax)
    b = (tz - vmin) / delta
    l, u = b.floor().long(), b.ceil().long()
    l[(u > 0) & (l == u)] -= 1
    u[(l < (atoms - 1)) & (l == u)] += 1
    m = torch.zeros_like(nextp)
    off = torch.linspace(0, (len(rewards) - 1) * atoms, len(rewards)).long().unsqueeze(1).expand_as(m)
    m.view(-1).index_add_(0, (l + off).view(-1), (nextp * (u.float() - b)).view(-1))
    m.view(-1).index_add_(0, (u + off).view(-1), (nextp * (b - l.float())).view(-1))
    return m


replay = PrioritizedReplay(16)
for i in range(20):
    s = torch.randn(4)
    replay.push(s, random.randrange(2), s.sum().item() / 4, torch.randn(4), float(i % 5 == 4))
agent, target = Rainbow(), Rainbow()
target.load_state_dict(agent.state_dict())
online = torch.compile(agent, backend="aot_eager")
opt = optim.Adam(agent.parameters(), lr=1e-2, eps=1.5e-4)
for it in range(3):
    batch, idx, w = replay.sample(6)
    s, a, r, s2, d = zip(*batch)
    s, s2, a, r, d = torch.stack(s), torch.stack(s2), torch.tensor(a), torch.tensor(r), torch.tensor(d)
    logp = online(s, log=True)[torch.arange(6), a]
    with torch.no_grad():
        best = (agent(s2) * agent.support).sum(2).argmax(1)
        m = project(target(s2)[torch.arange(6), best], r, d, agent.support)
    losses = -(m * logp).sum(1)
    opt.zero_grad()
    (w * losses).mean().backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 10)
    opt.step()
    replay.update(idx, losses.detach())
    agent.adv.reset_noise()
    agent.val.reset_noise()
    print(f"rainbow {it} {losses.mean().item():.5f} mass {m.sum(1).mean().item():.4f} prio {replay.prios.max().item():.4f}")
