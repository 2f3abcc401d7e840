# GNN + contrastive + schedule: GAT layer from scratch, scatter softmax, edge dropout, InfoNCE, momentum encoder queue
import torch, torch.nn as nn, torch.nn.functional as F, copy
torch.manual_seed(0)
def scatter_softmax(src, index, n):
    mx = torch.full((n, src.size(1)), float("-inf")).scatter_reduce(0, index.unsqueeze(1).expand_as(src), src, "amax")
    e = (src - mx[index]).exp(); d = torch.zeros(n, src.size(1)).index_add(0, index, e)
    return e / (d[index] + 1e-16)
class GAT(nn.Module):
    def __init__(self, i, o, heads=2, concat=True):
        super().__init__(); self.h, self.o, self.concat = heads, o, concat
        self.lin = nn.Linear(i, heads * o, bias=False); self.a = nn.ParameterDict({"src": nn.Parameter(torch.empty(1, heads, o)), "dst": nn.Parameter(torch.empty(1, heads, o))})
        self.bias = nn.Parameter(torch.zeros(heads * o if concat else o)); nn.init.xavier_uniform_(self.lin.weight, gain=nn.init.calculate_gain("relu"))
        for p in self.a.values(): nn.init.xavier_uniform_(p)
    def forward(self, x, ei):
        n = x.size(0); h = self.lin(x).view(n, self.h, self.o); s, d = ei
        al = F.leaky_relu((h * self.a["src"]).sum(-1)[s] + (h * self.a["dst"]).sum(-1)[d], 0.2)
        al = F.dropout(scatter_softmax(al, d, n), 0.2, self.training)
        out = torch.zeros(n, self.h, self.o).index_add_(0, d, h[s] * al.unsqueeze(-1))
        return (out.flatten(1) if self.concat else out.mean(1)) + self.bias
class Net(nn.Module):
    def __init__(self): super().__init__(); self.c1, self.c2 = GAT(5, 4), GAT(8, 6, concat=False); self.proj = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 4))
    def forward(self, x, ei, mask=None):
        if mask is not None: ei = ei[:, mask]
        return F.normalize(self.proj(self.c2(F.elu(self.c1(x, ei)), ei)), dim=-1)
q = Net(); k = copy.deepcopy(q)
for p in k.parameters(): p.requires_grad = False
queue = F.normalize(torch.randn(4, 10), dim=0); ptr = torch.zeros(1, dtype=torch.long)
fq, fk = torch.compile(q), torch.compile(k)
opt = torch.optim.SGD(q.parameters(), 0.1, momentum=0.9); sch = torch.optim.lr_scheduler.SequentialLR(opt, [torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=2), torch.optim.lr_scheduler.CosineAnnealingLR(opt, 4)], milestones=[2])
x = torch.randn(6, 5); ei = torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2, 5], [1, 2, 3, 4, 5, 0, 3, 0, 2]])
for step in range(4):
    a = fq(x + 0.1 * torch.randn_like(x), ei)
    with torch.no_grad():
        for pq, pk in zip(q.parameters(), k.parameters()): pk.data = pk.data * 0.99 + pq.data * 0.01
        b = fk(x, ei, torch.rand(ei.size(1)) > 0.2 if step % 2 else None)
    logits = torch.cat([torch.einsum("nc,nc->n", a, b).unsqueeze(-1), torch.einsum("nc,ck->nk", a, queue.clone().detach())], 1) / 0.2
    loss = F.cross_entropy(logits, torch.zeros(6, dtype=torch.long)); opt.zero_grad(); loss.backward(); opt.step(); sch.step()
    with torch.no_grad(): n = b.size(0); p0 = int(ptr); idx = (torch.arange(n) + p0) % 10; queue[:, idx] = b.T; ptr[0] = (p0 + n) % 10
    print(step, f"{loss.item():.4f}", f"{sch.get_last_lr()[0]:.4f}", int(ptr))
q.eval(); print(fq(x, ei).norm(dim=1))
