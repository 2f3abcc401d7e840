# Freezing: parameters are constants, what depends on them alone is computed once, and PyTorch logs the graph that is left.
import logging

import torch
import torch._inductor.config as inductor
from torch import nn


class Show(logging.Handler):
    def emit(self, record):
        text = record.getMessage()
        if "FROZEN GRAPH" in text:
            lines = [line.rstrip() for line in text.splitlines()]
            print("\n".join(line for line in lines if line and not line.lstrip().startswith(("TRACED", "=====", "/", "torch/", "#"))))


log = logging.getLogger("torch._inductor.freezing")
log.addHandler(Show())
log.setLevel(logging.DEBUG)
log.propagate = False


class Image(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.depth = nn.Conv2d(8, 8, 3, groups=8)
        self.scale = nn.Parameter(torch.rand(8, 1, 1))
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        x = self.norm(self.conv(x)).relu()
        return self.head((self.depth(x) * 2.0 * self.scale).mean((2, 3))), x


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.out = nn.Linear(4, 10, bias=False)
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))
        self.register_buffer("mask", torch.ones(3, 3).tril())

    def forward(self, i):
        self.calls += 1
        weights = self.mask.masked_fill(self.mask == 0, float("-inf")).softmax(-1)
        return self.out(weights @ self.table(i)) + self.calls


class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 4, 2)
        self.norm = nn.BatchNorm1d(4)
        self.first = nn.Parameter(torch.randn(3))

    def forward(self, x):
        return self.norm(self.conv(x)), self.first.view(3, 1)


torch.manual_seed(0)
for module, *inputs in (
    (Image(), torch.randn(2, 3, 8, 8), torch.randn(2, 3, 9, 9)),
    (Words(), torch.tensor([[1, 2, 3]]), torch.tensor([[3, 4, 5]])),
    (Half().bfloat16(), torch.randn(1, 2, 4).bfloat16()),
):
    module.eval()
    with torch.no_grad(), inductor.patch({"freezing": True, "cpp.weight_prepack": False}):
        compiled = torch.compile(module)
        for x in inputs:
            want = module(x)
            got = compiled(x)
            if isinstance(module, Words):
                print(module.calls)
                want = want + 1
            for a, b in zip(got, want):
                print(a.shape, a.dtype, torch.allclose(a.float(), b.float(), atol=0.05))
    torch._dynamo.reset()

with torch.no_grad(), inductor.patch({"freezing": True, "layout_optimization": False, "cpp.weight_prepack": False}):
    print(torch.compile(nn.Conv2d(1, 2, 2))(torch.randn(1, 1, 3, 3)).shape)
torch._dynamo.reset()
log.setLevel(logging.WARNING)

net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).eval()
x = torch.ones(1, 3)
with torch.no_grad(), inductor.patch(freezing=True):
    compiled = torch.compile(net)
    first = compiled(x)
    net[0].weight.data.zero_()
    print(torch.equal(first, compiled(x)), torch.equal(first, net(x)))
    net[0].weight = nn.Parameter(torch.ones(2, 3))
    print(torch.allclose(compiled(x), net(x)))
    torch._dynamo.reset()
    with inductor.patch(freezing_discard_parameters=True):
        compiled = torch.compile(net)
        print(torch.allclose(compiled(x), net(x)) if False else compiled(x).shape)
    print({name: type(held).__name__ for name, held in [*net.named_parameters(), *net.named_buffers()]})
    print(compiled(x).shape, net[0].weight.shape, net[0].weight.device)
    for use in (lambda: net(x), lambda: net[1].running_mean + 1, lambda: compiled(torch.ones(2, 3))):
        try:
            use()
        except RuntimeError as error:
            print(error)
