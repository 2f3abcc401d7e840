"""Mixed precision on the CPU: autocast around and inside compiled code, GradScaler."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.amp import GradScaler, autocast


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.fc1 = nn.Linear(4 * 4 * 4, 8)
        self.fc2 = nn.Linear(8, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        x = torch.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


torch.manual_seed(0)
model = Net()
x = torch.randn(4, 1, 8, 8)
y = torch.tensor([0, 1, 2, 1])
with torch.autocast("cpu", dtype=torch.bfloat16):
    a = torch.mm(torch.ones(2, 2), torch.ones(2, 2))
    print(a.dtype, torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
    print(torch.softmax(a, 0).dtype, torch.cat([a, a.float()]).dtype, (a + a.float()).dtype, F.mse_loss(a, a).dtype)
    with torch.autocast("cpu", enabled=False):
        print(torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype)
print(torch.is_autocast_enabled("cpu"))

compiled = torch.compile(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = GradScaler("cpu", init_scale=128.0, growth_interval=2)
for step in range(3):
    opt.zero_grad()
    with autocast(device_type="cpu", dtype=torch.bfloat16):
        out = compiled(x)
        loss = F.cross_entropy(out, y)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    print(step, out.dtype, loss.dtype, f"{loss.item():.2f}", scaler.get_scale(), model.fc1.weight.grad.dtype)


def step_fn(x, w1, w2):
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        h = torch.nn.functional.linear(x, w1).relu()
        h = h @ w2
        s = torch.stack([h, h.float()])
    return (s.float() ** 2).mean(), h


f = torch.compile(step_fn)
w1 = torch.randn(6, 5, requires_grad=True)
w2 = torch.randn(6, 2, requires_grad=True)
loss, h = f(torch.randn(3, 5), w1, w2)
loss.backward()
print(h.dtype, w1.grad.dtype, w1.grad.shape)


@torch.autocast("cpu", torch.bfloat16)
def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v).sum(-1)


g = torch.compile(attend)
q = torch.randn(1, 2, 4, 8, requires_grad=True)
out = g(q, q, q)
out.float().sum().backward()
print(out.dtype, q.grad.dtype, scaler.state_dict())
