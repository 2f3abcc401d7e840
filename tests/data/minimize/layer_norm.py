# keep: operator:aten.native_layer_norm_backward
import torch
import torch.nn as nn

torch._dynamo.config.compiled_autograd = True


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        h = self.n1(x)
        x = x + nn.functional.scaled_dot_product_attention(self.q(h), self.k(h), self.v(h), is_causal=True)
        return x + self.down(nn.functional.gelu(self.up(self.n2(x))))


torch.manual_seed(0)
m = Block(8)
opt = torch.optim.AdamW(m.parameters(), lr=0.01)


@torch.compile
def step(x, y):
    loss = (m(x) - y).square().mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    return loss.detach()


x, y = torch.randn(2, 5, 8), torch.zeros(2, 5, 8)
for _ in range(3):
    print(round(step(x, y).item(), 4))
