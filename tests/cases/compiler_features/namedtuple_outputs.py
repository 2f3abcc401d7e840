from dataclasses import dataclass, field, asdict, replace
from typing import NamedTuple, Optional
from collections import OrderedDict, defaultdict
import torch
import torch.nn as nn

class Output(NamedTuple):
    logits: torch.Tensor
    hidden: torch.Tensor
    loss: Optional[torch.Tensor] = None

@dataclass
class Config:
    d_in: int = 4
    d_h: int = 6
    n_out: int = 3
    tags: list = field(default_factory=lambda: ["a", "b"])

@dataclass
class ModelOutput:
    logits: torch.Tensor
    aux: dict
    loss: Optional[torch.Tensor] = None

class Net(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.cfg = cfg
        self.a = nn.Linear(cfg.d_in, cfg.d_h)
        self.b = nn.Linear(cfg.d_h, cfg.n_out)
    def forward(self, batch: dict) -> Output:
        h = torch.tanh(self.a(batch["x"]))
        logits = self.b(h)
        loss = nn.functional.cross_entropy(logits, batch["y"]) if batch.get("y") is not None else None
        return Output(logits, h, loss)

class Wrapped(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def forward(self, **kw):
        out = self.net(kw)
        return ModelOutput(out.logits, OrderedDict(norm=out.hidden.norm(), mean=out.hidden.mean(0)), out.loss)

torch.manual_seed(0)
cfg = replace(Config(), d_h=5)
print(cfg, asdict(cfg))
net = Net(cfg)
f = torch.compile(net)
out = f({"x": torch.randn(7, 4), "y": torch.randint(3, (7,))})
print(type(out).__name__, out._fields, out.loss)
out.loss.backward()
eval_out = f({"x": torch.ones(2, 4)})
print(eval_out.loss is None, eval_out.logits)
w = torch.compile(Wrapped(net))
o = w(x=torch.randn(3, 4), y=torch.tensor([0, 1, 2]))
print(type(o).__name__, list(o.aux), f"{o.loss:.4f}", o.aux["mean"])
(o.loss + o.aux["norm"]).backward()
totals = defaultdict(float)
for n, p in net.named_parameters():
    totals[n.split(".")[0]] += p.grad.norm().item()
print({k: round(v, 4) for k, v in totals.items()})
