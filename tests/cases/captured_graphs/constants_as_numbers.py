"""Tensors that a function writes down: their numbers are known where they index, and where make_fx asks for them."""
import torch
from torch.fx.experimental.proxy_tensor import make_fx

x = torch.arange(6.0).view(2, 3)
print(torch.compile(lambda x: x[torch.tensor(1)])(x))
torch._dynamo.reset()
print(torch.compile(lambda x: x[0, torch.tensor(1)])(x))
torch._dynamo.reset()
print(torch.compile(lambda x: x[:, torch.tensor(1)] + 1)(x))
torch._dynamo.reset()
print(torch.compile(lambda x: x[torch.tensor(True)])(x))
torch._dynamo.reset()
print(torch.compile(lambda x: x.select(0, torch.tensor(1)))(x))
torch._dynamo.reset()
print(torch.compile(lambda x: x[torch.tensor(1)] * 2, fullgraph=True)(x))

functions = (
    lambda x: x[torch.tensor(1)],
    lambda x: x + torch.tensor(3).item(),
    lambda x: x[torch.tensor([0, 1])],
    lambda x: x.reshape(torch.tensor(3).item(), -1),
    lambda x: x if torch.tensor(True) else -x,
    lambda x: x * (torch.tensor(2) + 1).item(),
    lambda x: x * torch.tensor(2).add_(1).item(),
    lambda x: x[: torch.tensor(1)],
    lambda x: x.sum(int(torch.tensor(1))),
    lambda x: x * (torch.tensor(2.0) * x[0, 1]).item(),
)
for f in functions:
    for mode in ("real", "fake", "symbolic"):
        try:
            print(mode, make_fx(f, tracing_mode=mode)(x).code.strip())
        except Exception as e:
            print(mode, type(e).__name__, str(e)[:120])
