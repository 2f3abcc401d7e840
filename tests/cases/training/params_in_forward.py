"""What a forward leaves in its module: parameters made anew, attributes set to what they are, values read after a branch."""
import torch
import torch.nn as nn


class EMAVectorQuantizer(nn.Module):
    def __init__(self, codes=4, dim=3, decay=0.9):
        super().__init__()
        self.decay = decay
        self.embedding = nn.Embedding(codes, dim)
        self.register_buffer("count", torch.ones(codes))
        self.codes = nn.Parameter(self.embedding.weight.detach().clone())

    def forward(self, x):
        distances = torch.cdist(x, self.embedding.weight)
        chosen = torch.nn.functional.one_hot(distances.argmin(1), self.codes.shape[0]).to(x.dtype)
        quantized = chosen @ self.embedding.weight
        if self.training:
            self.count = self.count * self.decay + (1 - self.decay) * chosen.sum(0)
            self.codes = nn.Parameter(self.codes * self.decay + (1 - self.decay) * chosen.t() @ x)
            self.embedding.weight = nn.Parameter(self.codes / self.count.unsqueeze(1))
        return x + (quantized - x).detach(), ((quantized.detach() - x) ** 2).mean()


class CausalAttention(nn.Module):
    def __init__(self, dim=4, length=6):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.mask = torch.full((length, length), float("-inf")).triu(1)

    def forward(self, x):
        self.mask = self.mask.to(dtype=x.dtype, device=x.device)
        q, k, v = self.qkv(x).chunk(3, -1)
        n = x.shape[1]
        return ((q @ k.transpose(1, 2)) / 2 + self.mask[:n, :n]).softmax(-1) @ v


class BatchNorm:
    """As scripts write it without modules."""

    def __init__(self, dim):
        self.gain, self.shift = torch.ones(dim, requires_grad=True), torch.zeros(dim, requires_grad=True)
        self.running_mean, self.running_var = torch.zeros(dim), torch.ones(dim)

    def __call__(self, x):
        mean, var = x.mean(0), x.var(0)
        self.out = self.gain * (x - mean) / torch.sqrt(var + 1e-5) + self.shift
        with torch.no_grad():
            self.running_mean = 0.9 * self.running_mean + 0.1 * mean
            self.running_var = 0.9 * self.running_var + 0.1 * var
        return self.out


class Exits(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(2))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x).tanh()
            confidence = x.softmax(-1).amax(-1)
            if confidence.min() > 0.9:
                return x, i
        return x, len(self.layers)


torch.manual_seed(0)
quantizer = EMAVectorQuantizer()
step = torch.compile(quantizer)
for _ in range(2):
    x = torch.randn(5, 3, requires_grad=True)
    y, loss = step(x)
    (y.sum() + loss).backward()
    print(loss, x.grad.sum(), quantizer.codes.requires_grad, quantizer.embedding.weight.grad)
attention = CausalAttention()
out = torch.compile(attention)(torch.randn(2, 5, 4))
out.sum().backward()
print(out.shape, attention.qkv.weight.grad.abs().sum(), attention.mask.requires_grad)
norm = BatchNorm(4)
compiled = torch.compile(norm)
for _ in range(2):
    compiled(torch.randn(6, 4)).square().sum().backward()
print(norm.running_mean, norm.running_var, norm.gain.grad)
torch._dynamo.reset()
print(torch.compile(Exits().eval())(torch.randn(3, 4))[1])


@torch.compile
def made(x):
    weight = nn.Parameter(x)
    fresh = nn.Parameter(torch.ones(3), requires_grad=False)
    return weight * x.sin(), fresh * weight


a, b = made(torch.ones(3))
print(a.requires_grad, b.requires_grad)
