"""Character-level RNN classifier and generator, from scratch and with nn.RNN."""
import random
import string
import unicodedata

import torch
import torch.nn as nn
import torch.nn.functional as F

all_letters = string.ascii_letters + " .,;'"
n_letters = len(all_letters) + 1

NAMES = {
    "French": ["Adélaïde", "Béranger", "Côté", "Dupont"],
    "German": ["Müller", "Weiß", "Schäfer", "Klein"],
    "Polish": ["Kowalski", "Wójcik", "Zając", "Nowak"],
}


def unicode_to_ascii(s):
    return "".join(c for c in unicodedata.normalize("NFD", s) if unicodedata.category(c) != "Mn" and c in all_letters)


category_lines = {k: [unicode_to_ascii(n) for n in v] for k, v in NAMES.items()}
all_categories = list(category_lines)
n_categories = len(all_categories)
print(category_lines["French"], unicode_to_ascii("Ślusàrski"))


def line_to_tensor(line):
    tensor = torch.zeros(len(line), 1, n_letters)
    for li, letter in enumerate(line):
        tensor[li][0][all_letters.find(letter)] = 1
    return tensor


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        hidden = torch.tanh(self.i2h(combined))
        output = self.softmax(self.h2o(hidden))
        return output, hidden

    def init_hidden(self):
        return torch.zeros(1, self.hidden_size)


random.seed(10)
torch.manual_seed(10)
rnn = RNN(n_letters, 12, n_categories)
step = torch.compile(rnn)
criterion = nn.NLLLoss()
learning_rate = 0.05


def train(category_tensor, line_tensor):
    hidden = rnn.init_hidden()
    rnn.zero_grad()
    for i in range(line_tensor.size()[0]):
        output, hidden = step(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-learning_rate)
    return output, loss.item()


def category_from_output(output):
    top_n, top_i = output.topk(1)
    category_i = top_i[0].item()
    return all_categories[category_i], category_i


current_loss = 0
for it in range(1, 7):
    category = random.choice(all_categories)
    line = random.choice(category_lines[category])
    output, loss = train(torch.tensor([all_categories.index(category)], dtype=torch.long), line_to_tensor(line))
    current_loss += loss
    guess, guess_i = category_from_output(output)
    correct = "✓" if guess == category else "✗ (%s)" % category
    print("%d %d%% %.4f %s / %s %s" % (it, it / 6 * 100, loss, line, guess, correct))


class CharRNN(nn.Module):
    def __init__(self, n_hidden=10, n_layers=2):
        super().__init__()
        self.chars = sorted(set("hello world"))
        self.int2char = dict(enumerate(self.chars))
        self.char2int = {ch: ii for ii, ch in self.int2char.items()}
        self.n_layers, self.n_hidden = n_layers, n_hidden
        self.rnn = nn.RNN(len(self.chars), n_hidden, n_layers, batch_first=True, nonlinearity="relu")
        self.fc = nn.Linear(n_hidden, len(self.chars))

    def forward(self, x, hidden):
        out, hidden = self.rnn(x, hidden)
        out = out.contiguous().view(-1, self.n_hidden)
        return self.fc(out), hidden


net = CharRNN()
print(net)
encoded = torch.tensor([net.char2int[c] for c in "hello world"])
x = F.one_hot(encoded[:-1], len(net.chars)).float().unsqueeze(0)
y = encoded[1:]
opt = torch.optim.Adam(net.parameters(), lr=0.05)
h = torch.zeros(2, 1, 10)
for epoch in range(8):
    h = h.data
    opt.zero_grad()
    out, h = net(x, h)
    loss = F.cross_entropy(out, y)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5)
    opt.step()
print(f"final {loss.item():.4f}", "".join(net.int2char[i] for i in out.argmax(1).tolist()))
