"""E(n)-equivariant message passing and SchNet filters on random molecules; checks equivariance."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from math import pi as PI

torch.manual_seed(42)


def unsorted_segment_sum(data, segment_ids, num_segments):
    result = data.new_full((num_segments, data.size(1)), 0)
    segment_ids = segment_ids.unsqueeze(-1).expand(-1, data.size(1))
    result.scatter_add_(0, segment_ids, data)
    return result


def unsorted_segment_mean(data, segment_ids, num_segments):
    segment_ids = segment_ids.unsqueeze(-1).expand(-1, data.size(1))
    result = data.new_full((num_segments, data.size(1)), 0)
    count = data.new_full((num_segments, data.size(1)), 0)
    result.scatter_add_(0, segment_ids, data)
    count.scatter_add_(0, segment_ids, torch.ones_like(data))
    return result / count.clamp(min=1)


class E_GCL(nn.Module):
    def __init__(self, input_nf, output_nf, hidden_nf, edges_in_d=0, act_fn=nn.SiLU(), residual=True, attention=False, tanh=False):
        super(E_GCL, self).__init__()
        input_edge = input_nf * 2
        self.residual, self.attention, self.tanh = residual, attention, tanh
        self.epsilon = 1e-8
        self.edge_mlp = nn.Sequential(nn.Linear(input_edge + 1 + edges_in_d, hidden_nf), act_fn, nn.Linear(hidden_nf, hidden_nf), act_fn)
        self.node_mlp = nn.Sequential(nn.Linear(hidden_nf + input_nf, hidden_nf), act_fn, nn.Linear(hidden_nf, output_nf))
        layer = nn.Linear(hidden_nf, 1, bias=False)
        torch.nn.init.xavier_uniform_(layer.weight, gain=0.001)
        coord_mlp = [nn.Linear(hidden_nf, hidden_nf), act_fn, layer]
        if self.tanh:
            coord_mlp.append(nn.Tanh())
        self.coord_mlp = nn.Sequential(*coord_mlp)
        if self.attention:
            self.att_mlp = nn.Sequential(nn.Linear(hidden_nf, 1), nn.Sigmoid())

    def edge_model(self, source, target, radial, edge_attr):
        if edge_attr is None:
            out = torch.cat([source, target, radial], dim=1)
        else:
            out = torch.cat([source, target, radial, edge_attr], dim=1)
        out = self.edge_mlp(out)
        if self.attention:
            out = out * self.att_mlp(out)
        return out

    def coord2radial(self, edge_index, coord):
        row, col = edge_index
        coord_diff = coord[row] - coord[col]
        radial = torch.sum(coord_diff ** 2, 1).unsqueeze(1)
        return radial, coord_diff

    def forward(self, h, edge_index, coord, edge_attr=None):
        row, col = edge_index
        radial, coord_diff = self.coord2radial(edge_index, coord)
        edge_feat = self.edge_model(h[row], h[col], radial, edge_attr)
        trans = coord_diff * self.coord_mlp(edge_feat)
        coord = coord + unsorted_segment_mean(trans, row, num_segments=coord.size(0))
        agg = unsorted_segment_sum(edge_feat, row, num_segments=h.size(0))
        out = self.node_mlp(torch.cat([h, agg], dim=1))
        return (h + out if self.residual else out), coord


class EGNN(nn.Module):
    def __init__(self, in_nf, hidden_nf, out_nf, n_layers=2):
        super(EGNN, self).__init__()
        self.n_layers = n_layers
        self.embedding_in = nn.Linear(in_nf, hidden_nf)
        self.embedding_out = nn.Linear(hidden_nf, out_nf)
        for i in range(0, n_layers):
            self.add_module("gcl_%d" % i, E_GCL(hidden_nf, hidden_nf, hidden_nf, edges_in_d=1, attention=i % 2 == 0, tanh=i % 2 == 1))

    def forward(self, h, x, edges, edge_attr):
        h = self.embedding_in(h)
        for i in range(0, self.n_layers):
            h, x = self._modules["gcl_%d" % i](h, edges, x, edge_attr=edge_attr)
        return self.embedding_out(h), x


def get_edges(n_nodes):
    rows, cols = [], []
    for i in range(n_nodes):
        for j in range(n_nodes):
            if i != j:
                rows.append(i)
                cols.append(j)
    return [rows, cols]


def get_edges_batch(n_nodes, batch_size):
    edges = get_edges(n_nodes)
    edge_attr = torch.ones(len(edges[0]) * batch_size, 1)
    edges = [torch.LongTensor(edges[0]), torch.LongTensor(edges[1])]
    if batch_size == 1:
        return edges, edge_attr
    rows, cols = [], []
    for i in range(batch_size):
        rows.append(edges[0] + n_nodes * i)
        cols.append(edges[1] + n_nodes * i)
    return [torch.cat(rows), torch.cat(cols)], edge_attr


class ShiftedSoftplus(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = torch.log(torch.tensor(2.0)).item()

    def forward(self, x):
        return F.softplus(x) - self.shift


class GaussianSmearing(nn.Module):
    def __init__(self, start=0.0, stop=5.0, num_gaussians=16):
        super().__init__()
        offset = torch.linspace(start, stop, num_gaussians)
        self.coeff = -0.5 / (offset[1] - offset[0]).item() ** 2
        self.register_buffer("offset", offset)

    def forward(self, dist):
        dist = dist.view(-1, 1) - self.offset.view(1, -1)
        return torch.exp(self.coeff * torch.pow(dist, 2))


class CFConv(nn.Module):
    def __init__(self, hidden, num_gaussians, cutoff):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(num_gaussians, hidden), ShiftedSoftplus(), nn.Linear(hidden, hidden))
        self.lin1 = nn.Linear(hidden, hidden, bias=False)
        self.lin2 = nn.Linear(hidden, hidden)
        self.cutoff = cutoff

    def forward(self, x, edge_index, edge_weight, edge_attr):
        C = 0.5 * (torch.cos(edge_weight * PI / self.cutoff) + 1.0)
        W = self.mlp(edge_attr) * C.view(-1, 1)
        src, dst = edge_index[0], edge_index[1]
        msg = self.lin1(x)[src] * W
        return self.lin2(torch.zeros_like(x).index_add(0, dst, msg))


class SchNet(nn.Module):
    def __init__(self, hidden=16, interactions=2, cutoff=3.0):
        super().__init__()
        self.embedding = nn.Embedding(10, hidden, padding_idx=0)
        self.smear = GaussianSmearing(0.0, cutoff, 16)
        self.blocks = nn.ModuleList(CFConv(hidden, 16, cutoff) for _ in range(interactions))
        self.act = ShiftedSoftplus()
        self.out = nn.Linear(hidden, 1)
        self.cutoff = cutoff

    def forward(self, z, pos, batch):
        d = torch.cdist(pos, pos)
        same = batch[:, None] == batch[None, :]
        mask = same & (d < self.cutoff) & ~torch.eye(len(z), dtype=torch.bool)
        edge_index = mask.nonzero().t()
        edge_weight = (pos[edge_index[0]] - pos[edge_index[1]]).norm(dim=-1)
        edge_attr = self.smear(edge_weight)
        h = self.embedding(z)
        for block in self.blocks:
            h = h + self.act(block(h, edge_index, edge_weight, edge_attr))
        h = self.out(h)
        return torch.zeros(int(batch.max()) + 1, 1).scatter_reduce(0, batch[:, None], h, reduce="sum", include_self=False)


batch_size, n_nodes, n_feat = 4, 4, 3
h = torch.randn(batch_size * n_nodes, n_feat)
x = torch.randn(batch_size * n_nodes, 3)
edges, edge_attr = get_edges_batch(n_nodes, batch_size)
egnn = EGNN(n_feat, 16, 1)
print("edges", edges[0].shape, edge_attr.shape, "parameters", sum(p.numel() for p in egnn.parameters()))
compiled = torch.compile(egnn)
opt = torch.optim.Adam(egnn.parameters(), lr=1e-2)
target = torch.randn(batch_size * n_nodes, 1)
for epoch in range(5):
    opt.zero_grad()
    out_h, out_x = compiled(h, x, edges, edge_attr)
    loss = F.l1_loss(out_h, target) + 0.1 * F.mse_loss(out_x, x * 0.5)
    loss.backward()
    opt.step()
    print("epoch %d \t loss %.5f" % (epoch, loss.item()))
q, r = torch.linalg.qr(torch.randn(3, 3))
shift = torch.randn(1, 3)
with torch.no_grad():
    h1, x1 = egnn(h, x, edges, edge_attr)
    h2, x2 = egnn(h, x @ q + shift, edges, edge_attr)
print("invariant:", torch.allclose(h1, h2, atol=1e-4), "equivariant:", torch.allclose(x1 @ q + shift, x2, atol=1e-4))

schnet = SchNet()
z = torch.randint(1, 10, (12,))
pos = torch.randn(12, 3)
batch = torch.tensor([0] * 5 + [1] * 7)
energy_target = torch.tensor([[-1.0], [2.0]])
opt = torch.optim.AdamW(schnet.parameters(), lr=5e-3, amsgrad=True)
for step in range(4):
    pos.requires_grad_(True)
    energy = schnet(z, pos, batch)
    forces = -torch.autograd.grad(energy.sum(), pos, create_graph=True)[0]
    loss = F.mse_loss(energy, energy_target) + 0.01 * forces.pow(2).mean()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    pos = pos.detach()
    print(f"schnet step {step}: E={[round(e, 4) for e in energy.flatten().tolist()]} |F|={forces.norm().item():.4f} loss={loss.item():.5f}")
print(schnet.blocks[0])
