import torch
torch.compile(lambda x: torch.cond(x.sum() > 0, lambda t: (t, t), lambda t: (t,), (x,)), fullgraph=True)(torch.ones(1))
