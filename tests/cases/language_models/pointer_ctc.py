import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence


class PointerNetwork(nn.Module):
    def __init__(self, input_dim, hidden_dim):
        super().__init__()
        self.encoder = nn.LSTM(input_dim, hidden_dim, batch_first=True)
        self.decoder = nn.LSTMCell(input_dim, hidden_dim)
        self.W1 = nn.Linear(hidden_dim, hidden_dim, bias=False)
        self.W2 = nn.Linear(hidden_dim, hidden_dim, bias=False)
        self.vt = nn.Linear(hidden_dim, 1, bias=False)

    def attention(self, enc, h, mask):
        score = self.vt(torch.tanh(self.W1(enc) + self.W2(h).unsqueeze(1))).squeeze(-1)
        score = score.masked_fill(mask, float("-inf"))
        return F.log_softmax(score, dim=-1)

    def forward(self, x):
        B, T, D = x.shape
        enc, (h, c) = self.encoder(x)
        h, c = h.squeeze(0), c.squeeze(0)
        mask = torch.zeros(B, T, dtype=torch.bool)
        inp = x.new_zeros(B, D)
        logps, picks = [], []
        for _ in range(T):
            h, c = self.decoder(inp, (h, c))
            logp = self.attention(enc, h, mask)
            idx = logp.argmax(-1)
            logps.append(logp)
            picks.append(idx)
            mask = mask.scatter(1, idx.unsqueeze(1), True)
            inp = x.gather(1, idx.view(B, 1, 1).expand(-1, -1, D)).squeeze(1)
        return torch.stack(logps, 1), torch.stack(picks, 1)


torch.manual_seed(1)
net = PointerNetwork(1, 8)
attend = torch.compile(net.attention)
x = torch.rand(2, 4, 1)
logps, picks = net(x)
order = x.squeeze(-1).argsort(1)
print(logps.shape, picks.tolist(), order.tolist())
enc, (h, c) = net.encoder(x)
scores = attend(enc, h.squeeze(0), torch.zeros(2, 4, dtype=torch.bool))
F.nll_loss(scores, order[:, 0]).backward()
print(f"{net.vt.weight.grad.abs().mean():.5f}")


class SpeechModel(nn.Module):
    def __init__(self, n_feats, n_class, hidden=8):
        super().__init__()
        self.conv = nn.Conv1d(n_feats, hidden, 3, stride=1, padding=1)
        self.norm = nn.LayerNorm(hidden)
        self.gru = nn.GRU(hidden, hidden, bidirectional=True, batch_first=True)
        self.classifier = nn.Linear(2 * hidden, n_class)

    def forward(self, x, lengths):
        x = F.gelu(self.conv(x.transpose(1, 2)).transpose(1, 2))
        x = self.norm(x)
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, _ = self.gru(packed)
        out, _ = pad_packed_sequence(out, batch_first=True)
        return F.log_softmax(self.classifier(out), dim=-1)


def greedy_decoder(output, blank=0):
    arg_maxes = torch.argmax(output, dim=-1)
    decodes = []
    for seq in arg_maxes:
        decode = []
        prev = None
        for index in seq.tolist():
            if index != blank and index != prev:
                decode.append(index)
            prev = index
        decodes.append(decode)
    return decodes


model = SpeechModel(5, 4)
features = pad_sequence([torch.randn(7, 5), torch.randn(5, 5), torch.randn(6, 5)], batch_first=True)
lengths = torch.tensor([7, 5, 6])
targets = torch.tensor([[1, 2, 3], [3, 1, 0], [2, 2, 0]])
target_lengths = torch.tensor([3, 2, 1])
ctc = nn.CTCLoss(blank=0, zero_infinity=True)
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for it in range(4):
    opt.zero_grad()
    log_probs = model(features, lengths)
    loss = ctc(log_probs.transpose(0, 1), targets, lengths, target_lengths)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    print(f"ctc {it} {loss.item():.4f}")
print(greedy_decoder(log_probs))


def levenshtein(a, b):
    dp = list(range(len(b) + 1))
    for i, ca in enumerate(a, 1):
        prev, dp[0] = dp[0], i
        for j, cb in enumerate(b, 1):
            prev, dp[j] = dp[j], min(dp[j] + 1, dp[j - 1] + 1, prev + (ca != cb))
    return dp[-1]


print(levenshtein("kitten", "sitting"), levenshtein([1, 2], [2]))
