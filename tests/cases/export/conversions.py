import torch
from torch import nn
from torch.export import export
class M(nn.Module):
    def forward(s, x, y): return x.float() + x.to(torch.int32).type_as(y) + y.half().sum() + x.to("cpu") + x.bool().double().mean()
ep = export(M(), (torch.ones(2), torch.ones(3,2)[1]))
print(ep.graph_module.code); print(ep.run_decompositions().graph_module.code); print(ep.run_decompositions({}).graph_module.code)
print(ep.module()(torch.ones(2), torch.ones(2)))
try: ep.module()(torch.ones(2, dtype=torch.int64), torch.ones(2))
except Exception as e: print(type(e).__name__, str(e)[:300])
