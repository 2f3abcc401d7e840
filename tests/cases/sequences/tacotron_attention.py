"""A Tacotron2-like decoder: location-sensitive attention, zoneout LSTM cells, prenet dropout at inference, postnet, stop tokens."""
from math import sqrt
import torch
from torch import nn
from torch.nn import functional as F
from torch.autograd import Variable

torch.manual_seed(1234)


class LinearNorm(torch.nn.Module):
    def __init__(self, in_dim, out_dim, bias=True, w_init_gain="linear"):
        super(LinearNorm, self).__init__()
        self.linear_layer = torch.nn.Linear(in_dim, out_dim, bias=bias)
        torch.nn.init.xavier_uniform_(self.linear_layer.weight, gain=torch.nn.init.calculate_gain(w_init_gain))

    def forward(self, x):
        return self.linear_layer(x)


class ConvNorm(torch.nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size=1, stride=1, padding=None, dilation=1, bias=True, w_init_gain="linear"):
        super(ConvNorm, self).__init__()
        if padding is None:
            assert kernel_size % 2 == 1
            padding = int(dilation * (kernel_size - 1) / 2)
        self.conv = torch.nn.Conv1d(in_channels, out_channels, kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation, bias=bias)
        torch.nn.init.xavier_uniform_(self.conv.weight, gain=torch.nn.init.calculate_gain(w_init_gain))

    def forward(self, signal):
        return self.conv(signal)


class LocationLayer(nn.Module):
    def __init__(self, attention_n_filters, attention_kernel_size, attention_dim):
        super(LocationLayer, self).__init__()
        padding = int((attention_kernel_size - 1) / 2)
        self.location_conv = ConvNorm(2, attention_n_filters, kernel_size=attention_kernel_size, padding=padding, bias=False, stride=1, dilation=1)
        self.location_dense = LinearNorm(attention_n_filters, attention_dim, bias=False, w_init_gain="tanh")

    def forward(self, attention_weights_cat):
        processed_attention = self.location_conv(attention_weights_cat)
        processed_attention = processed_attention.transpose(1, 2)
        return self.location_dense(processed_attention)


class Attention(nn.Module):
    def __init__(self, rnn_dim, embedding_dim, attention_dim, n_filters, kernel_size):
        super(Attention, self).__init__()
        self.query_layer = LinearNorm(rnn_dim, attention_dim, bias=False, w_init_gain="tanh")
        self.memory_layer = LinearNorm(embedding_dim, attention_dim, bias=False, w_init_gain="tanh")
        self.v = LinearNorm(attention_dim, 1, bias=False)
        self.location_layer = LocationLayer(n_filters, kernel_size, attention_dim)
        self.score_mask_value = -float("inf")

    def get_alignment_energies(self, query, processed_memory, attention_weights_cat):
        processed_query = self.query_layer(query.unsqueeze(1))
        processed_attention_weights = self.location_layer(attention_weights_cat)
        energies = self.v(torch.tanh(processed_query + processed_attention_weights + processed_memory))
        return energies.squeeze(-1)

    def forward(self, attention_hidden_state, memory, processed_memory, attention_weights_cat, mask):
        alignment = self.get_alignment_energies(attention_hidden_state, processed_memory, attention_weights_cat)
        if mask is not None:
            alignment.data.masked_fill_(mask, self.score_mask_value)
        attention_weights = F.softmax(alignment, dim=1)
        attention_context = torch.bmm(attention_weights.unsqueeze(1), memory)
        return attention_context.squeeze(1), attention_weights


class Prenet(nn.Module):
    def __init__(self, in_dim, sizes):
        super(Prenet, self).__init__()
        in_sizes = [in_dim] + sizes[:-1]
        self.layers = nn.ModuleList([LinearNorm(in_size, out_size, bias=False) for (in_size, out_size) in zip(in_sizes, sizes)])

    def forward(self, x):
        for linear in self.layers:
            x = F.dropout(F.relu(linear(x)), p=0.5, training=True)
        return x


class Postnet(nn.Module):
    def __init__(self, n_mel, dim):
        super(Postnet, self).__init__()
        self.convolutions = nn.ModuleList()
        self.convolutions.append(nn.Sequential(ConvNorm(n_mel, dim, kernel_size=5, w_init_gain="tanh"), nn.BatchNorm1d(dim)))
        self.convolutions.append(nn.Sequential(ConvNorm(dim, n_mel, kernel_size=5), nn.BatchNorm1d(n_mel)))

    def forward(self, x):
        for i in range(len(self.convolutions) - 1):
            x = F.dropout(torch.tanh(self.convolutions[i](x)), 0.5, self.training)
        return F.dropout(self.convolutions[-1](x), 0.5, self.training)


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.convolutions = nn.ModuleList([nn.Sequential(ConvNorm(dim, dim, kernel_size=5, w_init_gain="relu"), nn.BatchNorm1d(dim)) for _ in range(2)])
        self.lstm = nn.LSTM(dim, dim // 2, 1, batch_first=True, bidirectional=True)

    def forward(self, x, input_lengths):
        for conv in self.convolutions:
            x = F.dropout(F.relu(conv(x)), 0.5, self.training)
        x = x.transpose(1, 2)
        input_lengths = input_lengths.cpu()
        x = nn.utils.rnn.pack_padded_sequence(x, input_lengths, batch_first=True)
        self.lstm.flatten_parameters()
        outputs, _ = self.lstm(x)
        outputs, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
        return outputs


def zoneout(prev, new, p, training):
    if training:
        mask = torch.empty_like(prev).bernoulli_(p).bool()
        return torch.where(mask, prev, new)
    return p * prev + (1 - p) * new


def get_mask_from_lengths(lengths):
    max_len = torch.max(lengths).item()
    ids = torch.arange(0, max_len, out=torch.LongTensor(max_len))
    return (ids < lengths.unsqueeze(1)).bool()


class Decoder(nn.Module):
    def __init__(self, n_mel=6, enc=16, rnn=20, prenet=8):
        super().__init__()
        self.n_mel, self.enc, self.rnn = n_mel, enc, rnn
        self.max_decoder_steps, self.gate_threshold = 8, 0.5
        self.prenet = Prenet(n_mel, [prenet, prenet])
        self.attention_rnn = nn.LSTMCell(prenet + enc, rnn)
        self.attention_layer = Attention(rnn, enc, 12, 4, 5)
        self.decoder_rnn = nn.LSTMCell(rnn + enc, rnn, 1)
        self.linear_projection = LinearNorm(rnn + enc, n_mel)
        self.gate_layer = LinearNorm(rnn + enc, 1, bias=True, w_init_gain="sigmoid")

    def get_go_frame(self, memory):
        return Variable(memory.data.new(memory.size(0), self.n_mel).zero_())

    def initialize_decoder_states(self, memory, mask):
        B, T = memory.size(0), memory.size(1)
        zeros = lambda *s: Variable(memory.data.new(*s).zero_())
        self.attention_hidden, self.attention_cell = zeros(B, self.rnn), zeros(B, self.rnn)
        self.decoder_hidden, self.decoder_cell = zeros(B, self.rnn), zeros(B, self.rnn)
        self.attention_weights, self.attention_weights_cum, self.attention_context = zeros(B, T), zeros(B, T), zeros(B, self.enc)
        self.memory, self.processed_memory, self.mask = memory, self.attention_layer.memory_layer(memory), mask

    def decode(self, decoder_input):
        cell_input = torch.cat((decoder_input, self.attention_context), -1)
        h, c = self.attention_rnn(cell_input, (self.attention_hidden, self.attention_cell))
        self.attention_hidden = zoneout(self.attention_hidden, h, 0.1, self.training)
        self.attention_cell = c
        cat = torch.cat((self.attention_weights.unsqueeze(1), self.attention_weights_cum.unsqueeze(1)), dim=1)
        self.attention_context, self.attention_weights = self.attention_layer(self.attention_hidden, self.memory, self.processed_memory, cat, self.mask)
        self.attention_weights_cum += self.attention_weights
        decoder_input = torch.cat((self.attention_hidden, self.attention_context), -1)
        self.decoder_hidden, self.decoder_cell = self.decoder_rnn(decoder_input, (self.decoder_hidden, self.decoder_cell))
        hc = torch.cat((self.decoder_hidden, self.attention_context), dim=1)
        return self.linear_projection(hc), self.gate_layer(hc), self.attention_weights

    def forward(self, memory, decoder_inputs, memory_lengths):
        decoder_input = self.get_go_frame(memory).unsqueeze(0)
        decoder_inputs = torch.cat((decoder_input, decoder_inputs.permute(2, 0, 1)), dim=0)
        decoder_inputs = self.prenet(decoder_inputs)
        self.initialize_decoder_states(memory, mask=~get_mask_from_lengths(memory_lengths))
        mel_outputs, gate_outputs, alignments = [], [], []
        while len(mel_outputs) < decoder_inputs.size(0) - 1:
            mel, gate, att = self.decode(decoder_inputs[len(mel_outputs)])
            mel_outputs += [mel.squeeze(1)]
            gate_outputs += [gate.squeeze(1)]
            alignments += [att]
        return torch.stack(mel_outputs).transpose(0, 1).transpose(1, 2), torch.stack(gate_outputs).t(), torch.stack(alignments).transpose(0, 1)

    def inference(self, memory):
        decoder_input = self.get_go_frame(memory)
        self.initialize_decoder_states(memory, mask=None)
        mels = []
        while True:
            mel, gate, _ = self.decode(self.prenet(decoder_input))
            mels.append(mel)
            if torch.sigmoid(gate.data).mean() > self.gate_threshold:
                break
            elif len(mels) == self.max_decoder_steps:
                print("Warning! Reached max decoder steps")
                break
            decoder_input = mel
        return torch.stack(mels, 2)


class Tacotron(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(12, 16)
        std = sqrt(2.0 / (12 + 16))
        val = sqrt(3.0) * std
        self.embedding.weight.data.uniform_(-val, val)
        self.encoder, self.decoder, self.postnet = Encoder(16), Decoder(), Postnet(6, 10)

    def forward(self, text, lengths, mels):
        embedded = self.embedding(text).transpose(1, 2)
        mel, gate, align = self.decoder(self.encoder(embedded, lengths), mels, memory_lengths=lengths)
        return mel, mel + self.postnet(mel), gate, align


model = Tacotron()
model.postnet = torch.compile(model.postnet)
print("params", sum(p.numel() for p in model.parameters()), "postnet class", type(model.postnet).__name__)
lengths = torch.LongTensor([9, 7, 4])
text = torch.randint(1, 12, (3, 9)) * get_mask_from_lengths(lengths).long()
mels, gate_target = torch.randn(3, 6, 5), torch.zeros(3, 5)
gate_target[:, -1:] = 1
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6)
for iteration in range(3):
    model.zero_grad()
    mel, mel_post, gate, align = model(text, lengths, mels)
    loss = nn.MSELoss()(mel, mels) + nn.MSELoss()(mel_post, mels) + nn.BCEWithLogitsLoss()(gate.reshape(-1, 1), gate_target.view(-1, 1))
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print("Train loss {} {:.4f} Grad Norm {:.4f}".format(iteration, loss.item(), grad_norm))
print("alignment", align.shape, align[2, 0, 4:].tolist(), align.sum(-1).mean().item())
model.eval()
with torch.no_grad():
    memory = model.encoder(model.embedding(text).transpose(1, 2), lengths)
    out = model.decoder.inference(memory)
print(out.shape, f"{out.abs().mean():.4f}")
