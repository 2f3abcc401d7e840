import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter
from torch.nn.modules.module import Module


class GraphConvolution(Module):
    def __init__(self, in_features, out_features, bias=True):
        super(GraphConvolution, self).__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1. / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        output = torch.mm(adj, support)
        if self.bias is not None:
            return output + self.bias
        return output

    def __repr__(self):
        return self.__class__.__name__ + " (" + str(self.in_features) + " -> " + str(self.out_features) + ")"


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass, dropout):
        super(GCN, self).__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)
        self.dropout = dropout

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, self.dropout, training=self.training)
        x = self.gc2(x, adj)
        return F.log_softmax(x, dim=1)


class GATLayer(nn.Module):
    def __init__(self, cin, cout, alpha=0.2):
        super().__init__()
        self.W = nn.Parameter(torch.empty(size=(cin, cout)))
        nn.init.xavier_uniform_(self.W.data, gain=1.414)
        self.a = nn.Parameter(torch.empty(size=(2 * cout, 1)))
        nn.init.xavier_uniform_(self.a.data, gain=1.414)
        self.leakyrelu = nn.LeakyReLU(alpha)
        self.cout = cout

    def forward(self, h, adj):
        Wh = torch.mm(h, self.W)
        e = self.leakyrelu(torch.matmul(Wh, self.a[:self.cout, :]) + torch.matmul(Wh, self.a[self.cout:, :]).T)
        attention = torch.where(adj > 0, e, -9e15 * torch.ones_like(e))
        attention = F.softmax(attention, dim=1)
        return F.elu(torch.matmul(attention, Wh))


def message_passing(x, edge_index):
    src, dst = edge_index
    out = torch.zeros_like(x)
    out = out.index_add(0, dst, x[src])
    deg = torch.zeros(x.size(0)).scatter_add_(0, dst, torch.ones(dst.size(0))).clamp(min=1)
    return out / deg.unsqueeze(-1)


def normalize(mx):
    rowsum = mx.sum(1)
    r_inv = rowsum.pow(-1).flatten()
    r_inv[torch.isinf(r_inv)] = 0.
    return torch.diag(r_inv) @ mx


torch.manual_seed(42)
n = 7
adj = (torch.rand(n, n) > 0.6).float()
adj = adj + adj.t().multiply(adj.t() > adj) - adj.multiply(adj.t() > adj)
adj = normalize(adj + torch.eye(n))
features = torch.randn(n, 5)
labels = torch.tensor([0, 1, 2, 0, 1, 2, 0])
idx_train, idx_val = torch.LongTensor(range(4)), torch.LongTensor(range(4, 7))
model = GCN(5, 6, 3, 0.5)
print(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)
net = torch.compile(model)
for epoch in range(3):
    model.train()
    optimizer.zero_grad()
    output = net(features, adj)
    loss_train = F.nll_loss(output[idx_train], labels[idx_train])
    loss_train.backward()
    optimizer.step()
    preds = output.max(1)[1].type_as(labels)
    print("Epoch: {:04d}".format(epoch + 1), "loss_train: {:.4f}".format(loss_train.item()), "acc: {:.2f}".format(preds.eq(labels).double().mean().item()))
gat = GATLayer(5, 4)
g = torch.compile(gat)
out = g(features, adj)
out.pow(2).mean().backward()
print(out.shape, gat.a.grad.flatten())
edges = torch.tensor([[0, 1, 2, 3, 3], [1, 2, 0, 4, 5]])
mp = torch.compile(message_passing)
f = features.clone().requires_grad_()
y = mp(f, edges)
y.sum().backward()
print(y[4], f.grad[:, 0])
