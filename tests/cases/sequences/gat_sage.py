import torch
import torch.nn as nn
import torch.nn.functional as F


def scatter_softmax(src, index, num_nodes):
    maxes = torch.full((num_nodes, src.size(1)), float("-inf")).scatter_reduce(0, index.unsqueeze(1).expand_as(src), src, reduce="amax")
    out = (src - maxes[index]).exp()
    denom = torch.zeros(num_nodes, src.size(1)).index_add_(0, index, out)
    return out / (denom[index] + 1e-16)


class GATConv(nn.Module):
    def __init__(self, in_channels, out_channels, heads=1, concat=True, negative_slope=0.2):
        super().__init__()
        self.heads, self.out_channels, self.concat = heads, out_channels, concat
        self.negative_slope = negative_slope
        self.lin = nn.Linear(in_channels, heads * out_channels, bias=False)
        self.att_src = nn.Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = nn.Parameter(torch.empty(1, heads, out_channels))
        self.bias = nn.Parameter(torch.zeros(heads * out_channels if concat else out_channels))
        nn.init.xavier_uniform_(self.lin.weight)
        nn.init.xavier_uniform_(self.att_src)
        nn.init.xavier_uniform_(self.att_dst)

    def forward(self, x, edge_index):
        N = x.size(0)
        h = self.lin(x).view(-1, self.heads, self.out_channels)
        alpha_src = (h * self.att_src).sum(dim=-1)
        alpha_dst = (h * self.att_dst).sum(-1)
        row, col = edge_index
        alpha = F.leaky_relu(alpha_src[row] + alpha_dst[col], self.negative_slope)
        alpha = scatter_softmax(alpha, col, N)
        msg = h[row] * alpha.unsqueeze(-1)
        out = torch.zeros(N, self.heads, self.out_channels).index_add(0, col, msg)
        out = out.view(N, -1) if self.concat else out.mean(dim=1)
        return out + self.bias


class SAGEConv(nn.Module):
    def __init__(self, in_feats, out_feats, aggregator="mean"):
        super().__init__()
        self.fc_self = nn.Linear(in_feats, out_feats)
        self.fc_neigh = nn.Linear(in_feats, out_feats, bias=False)
        self.aggregator = aggregator

    def forward(self, x, edge_index):
        src, dst = edge_index[0], edge_index[1]
        if self.aggregator == "mean":
            agg = torch.zeros_like(x).scatter_add_(0, dst.unsqueeze(-1).expand(-1, x.size(1)), x[src])
            deg = torch.bincount(dst, minlength=x.size(0)).clamp(min=1).to(x.dtype)
            agg = agg / deg.unsqueeze(1)
        else:
            agg = torch.zeros_like(x).index_reduce(0, dst, x[src], "amax", include_self=False)
        return self.fc_self(x) + self.fc_neigh(agg)


class GAT(nn.Module):
    def __init__(self, nfeat, nhid, nclass, heads):
        super().__init__()
        self.conv1 = GATConv(nfeat, nhid, heads)
        self.conv2 = GATConv(nhid * heads, nclass, 1, concat=False)

    def forward(self, x, edge_index):
        x = F.elu(self.conv1(F.dropout(x, 0.3, training=self.training), edge_index))
        return F.log_softmax(self.conv2(x, edge_index), dim=1)


torch.manual_seed(5)
edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3), (1, 4)]
edge_index = torch.tensor(edges + [(b, a) for a, b in edges] + [(i, i) for i in range(6)]).t().contiguous()
x = torch.eye(6)
y = torch.tensor([0, 0, 1, 1, 2, 2])
train_mask = torch.tensor([True, False, True, True, False, True])
print(edge_index.shape, edge_index[:, :4].tolist())

model = GAT(6, 4, 3, 2)
compiled = torch.compile(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(3):
    model.train()
    optimizer.zero_grad()
    out = compiled(x, edge_index)
    loss = F.nll_loss(out[train_mask], y[train_mask])
    loss.backward()
    optimizer.step()
    acc = (out.argmax(1)[~train_mask] == y[~train_mask]).float().mean()
    print(f"GAT {epoch:03d} loss {loss:.4f} test acc {acc:.2f}")

sage = SAGEConv(6, 3)
sage_c = torch.compile(sage)
out = sage_c(x, edge_index)
F.cross_entropy(out, y).backward()
print("sage", out.shape, f"{sage.fc_neigh.weight.grad.norm():.4f}")
pool = SAGEConv(6, 3, "max")
out = pool(torch.rand(6, 6, requires_grad=True), edge_index)
print("pool", out.mean().item().__format__(".4f"))

# label propagation with a sparse-free normalized adjacency
A = torch.zeros(6, 6)
A[edge_index[0], edge_index[1]] = 1
D_inv_sqrt = torch.diag(A.sum(1).pow(-0.5))
A_hat = D_inv_sqrt @ A @ D_inv_sqrt
labels = F.one_hot(y, 3).float() * train_mask.unsqueeze(1)
out = labels.clone()
for _ in range(10):
    out = 0.9 * (A_hat @ out) + 0.1 * labels
    out[train_mask] = labels[train_mask]
print(out.argmax(dim=1), torch.unique(y, return_counts=True))
