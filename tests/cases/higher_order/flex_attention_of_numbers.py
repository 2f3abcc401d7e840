# Functions of scores with numbers beside tensors, more of them than a function is compiled for, without torch.compile around.
import torch
from torch.nn.attention.flex_attention import flex_attention

t = torch.linspace(-1, 1, 64).reshape(1, 1, 4, 16)
v = torch.arange(64.0).reshape(1, 1, 4, 16)
functions = {
    "where": lambda s, b, h, q, k: torch.where(q >= k, s, -1.0),
    "infinite": lambda s, b, h, q, k: torch.where(q >= k, s, -float("inf")),
    "first": lambda s, b, h, q, k: torch.where(q >= k, 2.0, s),
    "both": lambda s, b, h, q, k: torch.where(q >= k, 2.0, 1.0),
    "clamp": lambda s, b, h, q, k: torch.clamp(s, min=0.1),
    "fill": lambda s, b, h, q, k: torch.masked_fill(s, q < k, -1.0),
    "rsub": lambda s, b, h, q, k: torch.rsub(s, 2),
    "pow": lambda s, b, h, q, k: torch.pow(2.0, s),
    "add": lambda s, b, h, q, k: torch.add(s, q - k, alpha=0.5),
    "lerp": lambda s, b, h, q, k: torch.lerp(s, s * 2, 0.5),
}
for name, function in functions.items():
    print(name, flex_attention(t, t, v, score_mod=function).sum())


@torch.compile(fullgraph=True, backend="eager")
def chosen(x, s):
    return torch.where(x > 0, s, -1.0), torch.where(x > 0, 1.0, s), torch.pow(s, 2.0)


with torch._dynamo.config.patch(capture_scalar_outputs=True):
    print(chosen(torch.tensor([1.0, -1.0]), torch.tensor(3.0)))
