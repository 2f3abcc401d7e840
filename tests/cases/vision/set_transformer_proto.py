"""Set transformer with induced points, prototypical few-shot episodes."""
import torch
from torch import nn, optim
import torch.nn.functional as F

torch.manual_seed(0)

class MAB(nn.Module):
    def __init__(self, dq, dk, d, heads, ln=True):
        super().__init__()
        self.d, self.heads = d, heads
        self.q, self.k, self.v, self.o = nn.Linear(dq, d), nn.Linear(dk, d), nn.Linear(dk, d), nn.Linear(d, d)
        if ln:
            self.ln0, self.ln1 = nn.LayerNorm(d), nn.LayerNorm(d)
    def forward(self, Q, K):
        Q, K, V = self.q(Q), self.k(K), self.v(K)
        s = self.d // self.heads
        Q_ = torch.cat(Q.split(s, 2), 0)
        K_ = torch.cat(K.split(s, 2), 0)
        V_ = torch.cat(V.split(s, 2), 0)
        A = torch.softmax(Q_.bmm(K_.transpose(1, 2)) / self.d ** 0.5, 2)
        O = torch.cat((Q_ + A.bmm(V_)).split(Q.size(0), 0), 2)
        O = O if getattr(self, "ln0", None) is None else self.ln0(O)
        O = O + F.relu(self.o(O))
        return O if getattr(self, "ln1", None) is None else self.ln1(O)

class ISAB(nn.Module):
    def __init__(self, din, d, heads, m):
        super().__init__()
        self.I = nn.Parameter(torch.Tensor(1, m, d))
        nn.init.xavier_uniform_(self.I)
        self.m0, self.m1 = MAB(d, din, d, heads), MAB(din, d, d, heads)
    def forward(self, X):
        return self.m1(X, self.m0(self.I.repeat(X.size(0), 1, 1), X))

class PMA(nn.Module):
    def __init__(self, d, heads, k):
        super().__init__()
        self.S = nn.Parameter(torch.Tensor(1, k, d))
        nn.init.xavier_uniform_(self.S)
        self.mab = MAB(d, d, d, heads)
    def forward(self, X):
        return self.mab(self.S.repeat(X.size(0), 1, 1), X)

enc = nn.Sequential(ISAB(2, 8, 2, 3), ISAB(8, 8, 2, 3), PMA(8, 2, 1), nn.Flatten(), nn.Linear(8, 4))
cenc = torch.compile(enc)

def euclid(a, b):
    return (a.unsqueeze(1) - b.unsqueeze(0)).pow(2).sum(-1)

@torch.compile
def proto_loss(support, query, ways, shots):
    protos = support.view(ways, shots, -1).mean(1)
    logits = -euclid(query, protos)
    target = torch.arange(ways).repeat_interleave(query.size(0) // ways)
    return F.nll_loss(F.log_softmax(logits, 1), target), (logits.argmax(1) == target).float().mean()

opt = optim.Adagrad(enc.parameters(), lr=0.05)
centers = torch.randn(6, 2) * 3
for ep in range(5):
    ways, shots, nq, pts = 3, 2 + ep % 2, 2, 5
    cls = torch.randperm(6)[:ways]
    def draw(k):
        return (centers[cls].repeat_interleave(k, 0).unsqueeze(1) + torch.randn(ways * k, pts, 2)).float()
    s, q = cenc(draw(shots)), cenc(draw(nq))
    loss, acc = proto_loss(s, q, ways, shots)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(ep, shots, f"{loss.item():.3f}", f"{acc.item():.2f}")
