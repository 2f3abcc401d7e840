# keep: exception
import torch
from torch import nn


@torch.compile
def f(x, w):
    y = torch.nn.functional.dropout(x @ w, 0.1)
    return y.relu().sum()


x = torch.empty(3, 4, device="meta")
w = torch.empty(4, 5, device="meta", requires_grad=True)
l = f(x, w)
l.backward()
print(l, w.grad.shape, w.grad.device)
m = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, device="meta")
o = torch.compile(m)(torch.empty(2, 5, 8, device="meta"))
print(o.shape, o.device, o.requires_grad)
o.sum().backward()
print(m.linear1.weight.grad)
try:
    l.item()
except Exception as e:
    print(type(e).__name__, str(e).splitlines()[0][:80])
print((x + torch.ones(5)).shape)
