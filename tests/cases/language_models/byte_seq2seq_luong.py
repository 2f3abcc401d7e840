import random, unicodedata, re
import torch
import torch.nn as nn
import torch.nn.functional as F
SOS_token, EOS_token = 0, 1
MAX_LENGTH = 7
random.seed(0); torch.manual_seed(0)

class Lang:
    def __init__(self, name):
        self.name = name
        self.word2index, self.word2count = {}, {}
        self.index2word = {0: "SOS", 1: "EOS"}
        self.n_words = 2
    def addSentence(self, sentence):
        for word in sentence.split(' '):
            self.addWord(word)
    def addWord(self, word):
        if word not in self.word2index:
            self.word2index[word] = self.n_words
            self.word2count[word] = 1
            self.index2word[self.n_words] = word
            self.n_words += 1
        else:
            self.word2count[word] += 1

def unicodeToAscii(s):
    return ''.join(c for c in unicodedata.normalize('NFD', s) if unicodedata.category(c) != 'Mn')

def normalizeString(s):
    s = unicodeToAscii(s.lower().strip())
    s = re.sub(r"([.!?])", r" \1", s)
    return re.sub(r"[^a-zA-Z!?]+", r" ", s).strip()

pairs = [["Je suis fatigué.", "i am tired ."], ["Il est très grand!", "he is very tall !"], ["Tu es là ?", "are you there ?"], ["Nous sommes prêts.", "we are ready ."], ["Elle est médecin.", "she is a doctor ."]]
pairs = [[normalizeString(a), normalizeString(b)] for a, b in pairs]
inp, out = Lang('fra'), Lang('eng')
for a, b in pairs:
    inp.addSentence(a); out.addSentence(b)
print(pairs[0], inp.n_words, out.n_words)

class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.0):
        super(EncoderRNN, self).__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)
    def forward(self, input):
        embedded = self.dropout(self.embedding(input))
        output, hidden = self.gru(embedded)
        return output, hidden

class LuongAttention(nn.Module):
    def __init__(self, method, hidden_size):
        super().__init__()
        self.method = method
        if method not in ['dot', 'general', 'concat']:
            raise ValueError(method, "is not an appropriate attention method.")
        if method == 'general':
            self.attn = nn.Linear(hidden_size, hidden_size)
        elif method == 'concat':
            self.attn = nn.Linear(hidden_size * 2, hidden_size)
            self.v = nn.Parameter(torch.FloatTensor(hidden_size).uniform_(-1, 1))
    def dot_score(self, hidden, enc): return torch.sum(hidden * enc, dim=2)
    def general_score(self, hidden, enc): return torch.sum(hidden * self.attn(enc), dim=2)
    def concat_score(self, hidden, enc):
        energy = self.attn(torch.cat((hidden.expand(-1, enc.size(1), -1), enc), 2)).tanh()
        return torch.sum(self.v * energy, dim=2)
    def forward(self, hidden, enc):
        if self.method == 'general': e = self.general_score(hidden, enc)
        elif self.method == 'concat': e = self.concat_score(hidden, enc)
        else: e = self.dot_score(hidden, enc)
        return F.softmax(e, dim=1).unsqueeze(1)

class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size, method):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.attn = LuongAttention(method, hidden_size)
        self.concat = nn.Linear(hidden_size * 2, hidden_size)
        self.out = nn.Linear(hidden_size, output_size)
    def forward(self, encoder_outputs, encoder_hidden, target_tensor=None):
        batch_size = encoder_outputs.size(0)
        decoder_input = torch.empty(batch_size, 1, dtype=torch.long).fill_(SOS_token)
        decoder_hidden = encoder_hidden
        decoder_outputs = []
        attentions = []
        for i in range(MAX_LENGTH):
            decoder_output, decoder_hidden, attn = self.forward_step(decoder_input, decoder_hidden, encoder_outputs)
            decoder_outputs.append(decoder_output)
            attentions.append(attn)
            if target_tensor is not None:
                decoder_input = target_tensor[:, i].unsqueeze(1)
            else:
                _, topi = decoder_output.topk(1)
                decoder_input = topi.squeeze(-1).detach()
        decoder_outputs = torch.cat(decoder_outputs, dim=1)
        decoder_outputs = F.log_softmax(decoder_outputs, dim=-1)
        return decoder_outputs, decoder_hidden, torch.cat(attentions, dim=1)
    def forward_step(self, input, hidden, enc):
        e = F.relu(self.embedding(input))
        rnn, hidden = self.gru(e, hidden)
        a = self.attn(rnn, enc)
        ctx = a.bmm(enc)
        o = torch.tanh(self.concat(torch.cat((rnn, ctx), 2)))
        return self.out(o), hidden, a

def to_ids(lang, s):
    ids = [lang.word2index[w] for w in s.split(' ')][:MAX_LENGTH - 1] + [EOS_token]
    return ids + [EOS_token] * (MAX_LENGTH - len(ids))

X = torch.tensor([to_ids(inp, a) for a, _ in pairs]); Y = torch.tensor([to_ids(out, b) for _, b in pairs])
for method in ('dot', 'concat'):
    torch.manual_seed(1)
    enc, dec = EncoderRNN(inp.n_words, 12), AttnDecoderRNN(12, out.n_words, method)
    cenc, cdec = torch.compile(enc), torch.compile(dec)
    eo, do = torch.optim.Adam(enc.parameters(), lr=0.01), torch.optim.Adam(dec.parameters(), lr=0.01)
    crit = nn.NLLLoss()
    for ep in range(2):
        eo.zero_grad(); do.zero_grad()
        eout, eh = cenc(X)
        o, _, _ = cdec(eout, eh, Y if random.random() < 0.8 else None)
        loss = crit(o.view(-1, o.size(-1)), Y.view(-1))
        loss.backward(); eo.step(); do.step()
        print(method, ep, f"{loss.item():.4f}")
    with torch.no_grad():
        enc.eval(); dec.eval()
        eout, eh = cenc(X[:1])
        o, h, att = cdec(eout, eh)
        ids = o.topk(1)[1].squeeze()
        print([out.index2word[i.item()] for i in ids][:4], att.shape)
