"""Point clouds the way they were classified before PyTorch 0.4: `Variable` around tensors that a forward makes, learned rotations of
points and features, votes that are routed, and boxes kept by a mask beside an index."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable


class Rotation(nn.Module):
    """A matrix per cloud, near the identity."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.lift = nn.Conv1d(width, 10, 1)
        self.norm = nn.BatchNorm1d(10)
        self.matrix = nn.Linear(10, width * width)

    def forward(self, cloud):
        clouds = cloud.size(0)
        cloud = F.relu(self.norm(self.lift(cloud)))
        cloud = self.matrix(cloud.max(2)[0])
        identity = Variable(torch.eye(self.width).view(1, -1)).repeat(clouds, 1)
        if cloud.is_cuda:
            identity = identity.cuda()
        return (cloud + identity).view(clouds, self.width, self.width)


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.points, self.features = Rotation(3), Rotation(6)
        self.first, self.second = nn.Conv1d(3, 6, 1), nn.Conv1d(6, 12, 1)

    def forward(self, cloud):
        turned = torch.bmm(self.points(cloud), cloud)
        found = F.relu(self.first(turned))
        turn = self.features(found)
        found = F.relu(self.second(torch.bmm(turn, found)))
        return found.max(2)[0], turn


class Routed(nn.Module):
    """Votes agree on classes in a few rounds."""

    def __init__(self, classes, rounds=3):
        super().__init__()
        self.votes = nn.Parameter(torch.randn(12, classes, 4) * 0.3)
        self.rounds = rounds

    def squash(self, total):
        length = (total ** 2).sum(-1, keepdim=True)
        return length * total / ((1.0 + length) * torch.sqrt(length + 1e-8))

    def forward(self, found):
        votes = found[:, :, None, None] * self.votes
        logits = Variable(torch.zeros(1, votes.size(1), votes.size(2), 1))
        for i in range(self.rounds):
            total = (F.softmax(logits, dim=2) * votes).sum(dim=1, keepdim=True)
            agreed = self.squash(total)
            if i + 1 < self.rounds:
                logits = logits + (votes * agreed).sum(-1, keepdim=True).mean(dim=0, keepdim=True)
        return agreed.squeeze(1).norm(dim=-1)


class Classifier(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features, self.routed = Features(), Routed(classes)

    def forward(self, cloud):
        found, turn = self.features(cloud)
        return self.routed(found), turn


def orthogonal(turn):
    identity = torch.eye(turn.size(1)).unsqueeze(0)
    return torch.mean(torch.norm(torch.bmm(turn, turn.transpose(2, 1)) - identity, dim=(1, 2)))


torch.manual_seed(3)
model = Classifier(4)
fast, penalty = torch.compile(model), torch.compile(orthogonal)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step, points in enumerate((9, 9, 7)):
    cloud, target = Variable(torch.randn(4, 3, points)), Variable(torch.arange(4))
    lengths, turn = fast(cloud)
    loss = F.multi_margin_loss(lengths, target) + 0.001 * penalty(turn)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step %d: loss %.3f, right %d of %d" % (step, loss.data.item(), lengths.data.max(1)[1].eq(target).sum(), len(target)))


@torch.compile
def keep(scores, boxes, threshold):
    likely = scores.softmax(-1)[0, :, :-1]
    kept = likely.max(-1).values > threshold
    corners = boxes[0, kept] * torch.tensor([8.0, 6.0, 8.0, 6.0])
    return likely[kept], corners.round()


scores, boxes = torch.randn(1, 5, 4), torch.rand(1, 5, 4)
likely, corners = keep(scores, boxes, 0.3)
print(likely.shape, corners.sum(0))
adjacency = (torch.rand(5, 5) < 0.5).float()
print(torch.compile(lambda a, x: torch.spmm(a, x).relu())(adjacency, boxes[0]).shape)
