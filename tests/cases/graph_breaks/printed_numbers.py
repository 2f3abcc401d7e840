"""Numbers that are printed: rounded ones are part of graphs, and what a call that ends a graph is given has to be the same again."""
import torch, torch.nn.functional as F
torch.manual_seed(0)
history = []


@torch.compile
def step(x, i):
    loss = (x * x).sum()
    print("loss", i, round(loss.item(), 4))
    history.append(loss)
    return loss * 2


for i in range(3):
    step(torch.randn(4), i)


@torch.compile
def shown(x, k):
    y = x.sin()
    print("k", k)
    return y * 2


for k in range(3):
    shown(torch.ones(2), k)
torch._dynamo.reset()


@torch.compile
def percent(x):
    y = x.sum()
    print("sum %.3f" % y.item())
    return y


for i in range(3):
    percent(torch.ones(2) * i)
print([round(h.item(), 3) for h in history])


@torch.compile
def sample(logits, temperature=1.0, k=None):
    if temperature != 1.0:
        logits = logits / temperature
    if k is not None:
        logits = logits.topk(k)[0]
    return F.softmax(logits, dim=-1)


for arguments in ({}, {"temperature": 0.7}, {"temperature": 0.5}, {"k": 3}):
    print(sample(torch.randn(2, 6), **arguments).shape)
