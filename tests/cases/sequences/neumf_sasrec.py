import math
import random
from collections import defaultdict
import torch
import torch.nn as nn
import torch.nn.functional as F


class NeuMF(nn.Module):
    def __init__(self, users, items, mf=4, mlp=(8, 8, 4)):
        super().__init__()
        self.embedding_user_mlp, self.embedding_item_mlp = nn.Embedding(users, mlp[0] // 2), nn.Embedding(items, mlp[0] // 2)
        self.embedding_user_mf, self.embedding_item_mf = nn.Embedding(users, mf), nn.Embedding(items, mf)
        self.fc_layers = nn.ModuleList()
        for idx, (in_size, out_size) in enumerate(zip(mlp[:-1], mlp[1:])):
            self.fc_layers.append(nn.Linear(in_size, out_size))
        self.affine_output = nn.Linear(mlp[-1] + mf, 1)
        self.logistic = nn.Sigmoid()

    def forward(self, user_indices, item_indices):
        mlp_vector = torch.cat([self.embedding_user_mlp(user_indices), self.embedding_item_mlp(item_indices)], dim=-1)
        mf_vector = torch.mul(self.embedding_user_mf(user_indices), self.embedding_item_mf(item_indices))
        for idx, _ in enumerate(range(len(self.fc_layers))):
            mlp_vector = self.fc_layers[idx](mlp_vector)
            mlp_vector = nn.ReLU()(mlp_vector)
        vector = torch.cat([mlp_vector, mf_vector], dim=-1)
        return self.logistic(self.affine_output(vector))


class PointWiseFeedForward(nn.Module):
    def __init__(self, hidden_units, dropout_rate):
        super(PointWiseFeedForward, self).__init__()
        self.conv1 = torch.nn.Conv1d(hidden_units, hidden_units, kernel_size=1)
        self.dropout1 = torch.nn.Dropout(p=dropout_rate)
        self.relu = torch.nn.ReLU()
        self.conv2 = torch.nn.Conv1d(hidden_units, hidden_units, kernel_size=1)
        self.dropout2 = torch.nn.Dropout(p=dropout_rate)

    def forward(self, inputs):
        outputs = self.dropout2(self.conv2(self.relu(self.dropout1(self.conv1(inputs.transpose(-1, -2))))))
        outputs = outputs.transpose(-1, -2)
        return outputs


class SASRec(nn.Module):
    def __init__(self, item_num, maxlen=6, d=8, blocks=2, heads=2, p=0.1):
        super().__init__()
        self.item_emb = nn.Embedding(item_num + 1, d, padding_idx=0)
        self.pos_emb = nn.Embedding(maxlen + 1, d, padding_idx=0)
        self.emb_dropout = nn.Dropout(p)
        self.attention_layernorms, self.attention_layers = nn.ModuleList(), nn.ModuleList()
        self.forward_layernorms, self.forward_layers = nn.ModuleList(), nn.ModuleList()
        self.last_layernorm = nn.LayerNorm(d, eps=1e-8)
        for _ in range(blocks):
            self.attention_layernorms.append(nn.LayerNorm(d, eps=1e-8))
            self.attention_layers.append(nn.MultiheadAttention(d, heads, p))
            self.forward_layernorms.append(nn.LayerNorm(d, eps=1e-8))
            self.forward_layers.append(PointWiseFeedForward(d, p))

    def log2feats(self, log_seqs):
        seqs = self.item_emb(log_seqs)
        seqs *= self.item_emb.embedding_dim ** 0.5
        poss = torch.arange(1, log_seqs.shape[1] + 1).repeat(log_seqs.shape[0], 1)
        poss = poss * (log_seqs != 0)
        seqs += self.pos_emb(poss)
        seqs = self.emb_dropout(seqs)
        tl = seqs.shape[1]
        attention_mask = ~torch.tril(torch.ones((tl, tl), dtype=torch.bool))
        for i in range(len(self.attention_layers)):
            seqs = torch.transpose(seqs, 0, 1)
            Q = self.attention_layernorms[i](seqs)
            mha_outputs, _ = self.attention_layers[i](Q, seqs, seqs, attn_mask=attention_mask)
            seqs = Q + mha_outputs
            seqs = torch.transpose(seqs, 0, 1)
            seqs = self.forward_layernorms[i](seqs)
            seqs = seqs + self.forward_layers[i](seqs)
        return self.last_layernorm(seqs)

    def forward(self, log_seqs, pos_seqs, neg_seqs):
        log_feats = self.log2feats(log_seqs)
        pos_embs, neg_embs = self.item_emb(pos_seqs), self.item_emb(neg_seqs)
        pos_logits = (log_feats * pos_embs).sum(dim=-1)
        neg_logits = (log_feats * neg_embs).sum(dim=-1)
        return pos_logits, neg_logits

    def predict(self, log_seqs, item_indices):
        final_feat = self.log2feats(log_seqs)[:, -1, :]
        item_embs = self.item_emb(item_indices)
        return item_embs.matmul(final_feat.unsqueeze(-1)).squeeze(-1)


def ndcg(ranked, target):
    return 1 / math.log2(ranked.index(target) + 2) if target in ranked else 0.0


random.seed(1)
torch.manual_seed(1)
neumf = NeuMF(5, 9)
for m in neumf.modules():
    if isinstance(m, nn.Embedding):
        nn.init.normal_(m.weight.data, 0.0, 0.01)
c = torch.compile(neumf)
opt = torch.optim.Adam(neumf.parameters(), lr=0.01)
crit = nn.BCELoss()
inter = [(random.randrange(5), random.randrange(9), random.random() < 0.5) for _ in range(16)]
u, i, r = (torch.tensor(x) for x in zip(*inter))
for e in range(3):
    opt.zero_grad()
    loss = crit(c(u, i).view(-1), r.float())
    loss.backward()
    opt.step()
    print("neumf", f"{loss.item():.5f}")

sas = SASRec(9)
for name, param in sas.named_parameters():
    try:
        torch.nn.init.xavier_normal_(param.data)
    except ValueError:
        pass
sas.pos_emb.weight.data[0, :] = 0
sas.item_emb.weight.data[0, :] = 0
cs = torch.compile(sas)
opt = torch.optim.Adam(sas.parameters(), lr=0.001, betas=(0.9, 0.98))
bce = nn.BCEWithLogitsLoss()
seqs = torch.tensor([[0, 0, 1, 4, 2, 3], [5, 6, 7, 8, 9, 1]])
pos = torch.tensor([[0, 0, 4, 2, 3, 6], [6, 7, 8, 9, 1, 2]])
neg = torch.tensor([[0, 0, 7, 8, 9, 1], [1, 2, 3, 4, 5, 6]])
for e in range(3):
    pl, nl = cs(seqs, pos, neg)
    pos_labels, neg_labels = torch.ones_like(pl), torch.zeros_like(nl)
    opt.zero_grad()
    indices = torch.where(pos != 0)
    loss = bce(pl[indices], pos_labels[indices])
    loss += bce(nl[indices], neg_labels[indices])
    for param in sas.item_emb.parameters():
        loss += 0.01 * torch.sum(param ** 2)
    loss.backward()
    opt.step()
    print("sasrec", f"{loss.item():.5f}")
sas.eval()
with torch.no_grad():
    preds = -cs.predict(seqs, torch.arange(1, 10))
    rank = preds.argsort(dim=1).argsort(dim=1)
    print(rank.tolist(), round(ndcg(rank[0].tolist(), 2), 4))
