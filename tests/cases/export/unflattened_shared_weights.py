import torch
from torch import nn
from torch.export import export, unflatten, Dim


class Emb(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 4)
        self.register_buffer("pos", torch.arange(12.0).view(3, 4), persistent=False)

    def forward(self, t):
        return self.table(t) + self.pos[: t.shape[1]]


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = Emb()
        self.blocks = nn.ModuleDict({"a": nn.Sequential(nn.Linear(4, 4), nn.GELU()), "b": nn.LayerNorm(4)})
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.emb.table.weight
        self.scale = torch.tensor([2.0])

    def forward(self, batch):
        h = self.emb(batch["tokens"])
        for name in self.blocks:
            h = self.blocks[name](h)
        with torch.no_grad():
            mx = h.max()
        return (self.head(h) * self.scale, [mx, h.shape[0]])


torch.manual_seed(0)
m = LM().eval()
batch = {"tokens": torch.randint(0, 7, (2, 3))}
ep = export(m, (batch,), dynamic_shapes={"batch": {"tokens": {0: Dim("n")}}})
print(ep.graph_signature)
u = unflatten(ep)
print([n for n, _ in u.named_modules()])
print([n for n, _ in u.named_parameters()], [n for n, _ in u.named_parameters(remove_duplicate=False)])
print(u.head.weight is u.emb.table.weight, u.emb.pos.shape, "pos" in u.emb._non_persistent_buffers_set)
got, want = u(batch), m(batch)
print(torch.allclose(got[0], want[0], atol=1e-6), got[1])
print(u({"tokens": torch.zeros(5, 3, dtype=torch.long)})[0].shape)
u.emb.print_readable()
u.head.print_readable()
u.print_readable()
opt = torch.optim.SGD(u.parameters(), lr=0.1)
u(batch)[0].sum().backward()
print(u.head.weight.grad.shape)
c = torch.compile(u, backend="eager")
print(torch.allclose(c(batch)[0], got[0]))
