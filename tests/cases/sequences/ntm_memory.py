"""A neural Turing machine, an end-to-end memory network, and a recurrent attention cell written by hand."""
import torch
from torch import nn
from torch.nn import Parameter
import torch.nn.functional as F

torch.manual_seed(1)


def _convolve(w, s):
    assert s.size(0) == 3
    t = torch.cat([w[-1:], w, w[:1]])
    c = F.conv1d(t.view(1, 1, -1), s.view(1, 1, -1)).view(-1)
    return c


class NTMMemory(nn.Module):
    def __init__(self, N, M):
        super(NTMMemory, self).__init__()
        self.N = N
        self.M = M
        self.register_buffer("mem_bias", torch.Tensor(N, M))
        stdev = 1 / ((N + M) ** 0.5)
        nn.init.uniform_(self.mem_bias, -stdev, stdev)

    def reset(self, batch_size):
        self.batch_size = batch_size
        self.memory = self.mem_bias.clone().repeat(batch_size, 1, 1)

    def size(self):
        return self.N, self.M

    def read(self, w):
        return torch.matmul(w.unsqueeze(1), self.memory).squeeze(1)

    def write(self, w, e, a):
        self.prev_mem = self.memory
        erase = torch.matmul(w.unsqueeze(-1), e.unsqueeze(1))
        add = torch.matmul(w.unsqueeze(-1), a.unsqueeze(1))
        self.memory = self.prev_mem * (1 - erase) + add

    def address(self, k, beta, g, s, gamma, w_prev):
        wc = self._similarity(k, beta)
        wg = self._interpolate(w_prev, wc, g)
        what = self._shift(wg, s)
        return self._sharpen(what, gamma)

    def _similarity(self, k, beta):
        k = k.view(self.batch_size, 1, -1)
        return F.softmax(beta * F.cosine_similarity(self.memory + 1e-16, k + 1e-16, dim=-1), dim=1)

    def _interpolate(self, w_prev, wc, g):
        return g * wc + (1 - g) * w_prev

    def _shift(self, wg, s):
        result = torch.zeros(wg.size())
        for b in range(self.batch_size):
            result[b] = _convolve(wg[b], s[b])
        return result

    def _sharpen(self, what, gamma):
        w = what ** gamma
        return torch.div(w, torch.sum(w, dim=1).view(-1, 1) + 1e-16)


def _split_cols(mat, lengths):
    assert mat.size()[1] == sum(lengths), "Lengths must be summed to num columns"
    l = [0] + list(torch.tensor(lengths).cumsum(0))
    results = []
    for s, e in zip(l[:-1], l[1:]):
        results += [mat[:, s:e]]
    return results


class Head(nn.Module):
    def __init__(self, memory, controller_size, write):
        super().__init__()
        self.memory, self.is_write = memory, write
        self.N, self.M = memory.size()
        self.lengths = [self.M, 1, 1, 3, 1] + ([self.M, self.M] if write else [])
        self.fc = nn.Linear(controller_size, sum(self.lengths))
        nn.init.xavier_uniform_(self.fc.weight, gain=1.4)
        nn.init.normal_(self.fc.bias, std=0.01)

    def forward(self, embeddings, w_prev):
        o = self.fc(embeddings)
        k, beta, g, s, gamma, *rest = _split_cols(o, self.lengths)
        w = self.memory.address(k.clone(), F.softplus(beta), torch.sigmoid(g), F.softmax(s, dim=1), 1 + F.softplus(gamma), w_prev)
        if self.is_write:
            e, a = rest
            self.memory.write(w, torch.sigmoid(e), a)
            return w
        return self.memory.read(w), w


class NTM(nn.Module):
    def __init__(self, num_inputs, num_outputs, size, N, M):
        super().__init__()
        self.memory = NTMMemory(N, M)
        self.controller = nn.LSTMCell(num_inputs + M, size)
        self.read_head, self.write_head = Head(self.memory, size, False), Head(self.memory, size, True)
        self.fc = nn.Linear(size + M, num_outputs)
        self.h_bias = Parameter(torch.randn(1, size) * 0.05)
        self.c_bias = Parameter(torch.randn(1, size) * 0.05)
        self.register_buffer("r_bias", torch.randn(1, M) * 0.01)

    def init_sequence(self, batch_size):
        self.memory.reset(batch_size)
        self.prev = (self.r_bias.repeat(batch_size, 1), (self.h_bias.repeat(batch_size, 1), self.c_bias.repeat(batch_size, 1)),
                     torch.zeros(batch_size, self.memory.N), torch.zeros(batch_size, self.memory.N))

    def forward(self, x=None):
        r, state, w_r, w_w = self.prev
        if x is None:
            x = torch.zeros(self.memory.batch_size, self.controller.input_size - self.memory.M)
        h, c = self.controller(torch.cat([x, r], dim=1), state)
        r, w_r = self.read_head(c, w_r)
        w_w = self.write_head(c, w_w)
        self.prev = (r, (h, c), w_r, w_w)
        return torch.sigmoid(self.fc(torch.cat([h, r], dim=1)))


def clip_grads(net):
    for p in net.parameters():
        if p.grad is not None:
            p.grad.data.clamp_(-10, 10)


ntm = NTM(4, 3, 12, 6, 5)
print(ntm)
criterion = nn.BCELoss()
optimizer = torch.optim.RMSprop(ntm.parameters(), momentum=0.9, alpha=0.95, lr=1e-3)
for batch in range(3):
    seq = (torch.rand(3, 2, 3) > 0.5).float()
    inp = torch.zeros(4, 2, 4)
    inp[:3, :, :3] = seq
    inp[3, :, 3] = 1.0
    optimizer.zero_grad()
    ntm.init_sequence(2)
    for i in range(4):
        ntm(inp[i])
    y_out = torch.stack([ntm() for _ in range(3)])
    loss = criterion(y_out, seq)
    loss.backward()
    clip_grads(ntm)
    optimizer.step()
    y_bin = y_out.clone().data
    y_bin.apply_(lambda v: 0 if v < 0.5 else 1)
    cost = torch.sum(torch.abs(y_bin - seq.data))
    print(f"batch {batch} loss {loss.item():.6f} cost {cost.item() / 2}")


class MemN2N(nn.Module):
    def __init__(self, vocab, dim, hops):
        super().__init__()
        self.hops = hops
        self.A = nn.ModuleList(nn.Embedding(vocab, dim, padding_idx=0) for _ in range(hops + 1))
        for a in self.A:
            a.weight.data.normal_(0, 0.1)
        self.position = nn.Parameter(self.encoding(5, dim), requires_grad=False)

    @staticmethod
    def encoding(sentence_size, dim):
        e = torch.ones(sentence_size, dim)
        for j in range(1, sentence_size + 1):
            for k in range(1, dim + 1):
                e[j - 1, k - 1] = 1 - j / sentence_size - (k / dim) * (1 - 2 * j / sentence_size)
        return e

    def forward(self, story, query):
        u = (self.A[0](query) * self.position).sum(1)
        for hop in range(self.hops):
            m = (self.A[hop](story) * self.position).sum(2)
            p = torch.softmax((m * u.unsqueeze(1)).sum(2), dim=-1)
            c = (self.A[hop + 1](story) * self.position).sum(2)
            u = u + (c * p.unsqueeze(-1)).sum(1)
        return F.linear(u, self.A[-1].weight), p


mem = MemN2N(12, 8, 2)
story, query, answer = torch.randint(0, 12, (3, 4, 5)), torch.randint(1, 12, (3, 5)), torch.tensor([1, 5, 9])
opt = torch.optim.Adagrad(mem.parameters(), lr=0.1)
fwd = torch.compile(mem)
for i in range(3):
    logits, p = fwd(story, query)
    loss = F.cross_entropy(logits, answer, reduction="sum")
    opt.zero_grad(set_to_none=False)
    loss.backward()
    nn.utils.clip_grad_norm_(mem.parameters(), 40.0)
    opt.step()
    print(f"hop net {i} {loss.item():.4f} {p.argmax(-1).tolist()}")
