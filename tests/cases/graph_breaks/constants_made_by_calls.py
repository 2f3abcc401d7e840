import torch


class Attention(torch.nn.Module):
    def forward(self, x):
        scores = x * float("2")
        return scores.masked_fill(scores > 5, float("-inf")), int("3") + abs(-1)


class Block(torch.nn.Module):
    def __init__(self, last):
        super().__init__()
        self.attention = Attention()
        self.last = last

    def forward(self, x):
        scores, n = self.attention(x)
        if scores.sum() > 0:
            scores = scores + n
        if self.last == max(1, 2):
            scores = scores * float("inf")
        return scores


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block(0), Block(1)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


print(torch.compile(Model())(torch.ones(2)))


def masked(x, limit):
    best = float("-inf")
    for row in x:
        best = max(best, float(row.sum()))
        if best > limit:
            break
    return x.clamp(max=best) + (best if best < float("inf") else 0)


compiled = torch.compile(masked)
print(compiled(torch.arange(4.0).view(2, 2), 0.5), compiled(torch.arange(4.0).view(2, 2), 9.0))
