# keep: operator:aten.native_layer_norm
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

# blocks are compiled one by one and each is checkpointed from outside, as trainers do

class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))

class Net(nn.Module):
    def __init__(self, blocks, save):
        super().__init__()
        self.blocks, self.save = nn.ModuleList(blocks), save

    def forward(self, x):
        for b in self.blocks:
            x = b(x) if self.save else checkpoint(b, x, use_reentrant=False)
        return x

torch.manual_seed(0)
blocks = [Block(4), Block(4)]
x = torch.linspace(-1, 1, 12).reshape(3, 4)
want = None
for label, bs, save in (("plain", blocks, True), ("checkpointed", blocks, False),
                        ("compiled", [torch.compile(b) for b in blocks], True),
                        ("both", [torch.compile(b) for b in blocks], False)):
    for b in blocks:
        b.zero_grad()
    try:
        y = Net(bs, save)(x.clone().requires_grad_())
        y.square().mean().backward()
        g = [p.grad.clone() for b in blocks for p in b.parameters()]
        want = want or g
        print(label, round(y.sum().item(), 4), [torch.allclose(a, b, atol=1e-6) for a, b in zip(want, g)].count(False))
    except Exception as e:
        print(label, type(e).__name__, str(e).splitlines()[0][:90])
