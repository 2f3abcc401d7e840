# What `forward` sets on modules while it is exported is put back: it was traced, not run.
import torch
from torch.export import export


class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n, self.log, self.by_name = 0, [], {"calls": 1, "nested": [1]}

    def forward(self, x):
        self.n += 1
        self.log.append(self.n)
        self.by_name["calls"] += 1
        self.by_name["nested"].append(2)
        self.extra = 5
        return x + self.n


class Keeps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Counts()
        self.kept, self.seen = torch.zeros(2), []

    def forward(self, x):
        self.kept = x * 2
        self.seen.append(x * 3)
        return self.inner(x) + 1


class Constants(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("transient", torch.ones(2), persistent=False)
        self.table = torch.arange(2.0)

    def forward(self, x):
        return x + self.table + self.transient


for strict in (False, True):
    module = Counts()
    log = module.log
    program = export(module, (torch.ones(2),), strict=strict)
    print(strict, [node.name for node in program.graph.nodes], module.n, module.log, module.by_name, hasattr(module, "extra"))
    print(program.module()(torch.zeros(2)), module.n)
    module = Keeps()
    program = export(module, (torch.ones(2),), strict=strict)
    print(module.kept, module.seen, module.inner.n, module.inner.log, hasattr(module.inner, "extra"))
    print(program.module()(torch.zeros(2)))
    print(list(export(Constants(), (torch.ones(2),), strict=strict).constants))
