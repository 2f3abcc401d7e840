"""A decomposed program takes its tensors in the order of the attributes of `module()`; modules that PyTorch writes in several lines."""
import torch


class Stats(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(2))
        self.k = torch.ones(2)

    def forward(self, x):
        self.n.add_(1)
        return x + self.k + self.n


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("top", torch.ones(2))
        self.stats, self.fc, self.bn = Stats(), torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)
        self.shift = torch.ones(2)

    def forward(self, x):
        self.top.mul_(2)
        return self.bn(self.fc(self.stats(x))) * self.shift + self.top


ep = torch.export.export(Model(), (torch.ones(3, 2),))
print(ep.graph_signature)
functional = ep.run_decompositions()
print(functional)
print(functional.run_decompositions().graph_signature.buffers_to_mutate)
print(list(ep.constants), list(functional.constants))


class Layers(torch.nn.Module):
    def __init__(self, norm_first):
        super().__init__()
        self.encoder = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True, norm_first=norm_first)
        self.decoder = torch.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first)
        self.rnn = torch.nn.LSTM(8, 4, 2, bidirectional=True)
        self.tail = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Dropout(0.1)))

    def forward(self, x):
        y = self.encoder(x)
        y = self.decoder(y, x)
        return self.help(self.tail(self.rnn(y)[0]))

    def help(self, y):
        return y.sum(
            dim=-1)


for norm_first in (False, True):
    ep = torch.export.export(Layers(norm_first).train(), (torch.randn(2, 5, 8),))
    for node in ep.graph.nodes:
        if node.op == "call_function":
            frames = [line.strip().split("/")[-1].removeprefix('File "') for line in (node.stack_trace or "").strip().split("\n")]
            print(node.name, frames)
