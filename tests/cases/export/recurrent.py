import torch
import torch.nn as nn
from torch.export import export, Dim, ExportedProgram

class RNNish(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(11, 6)
        self.gru = nn.GRUCell(6, 6)
        self.head = nn.Linear(6, 11)
        self.head.weight = self.emb.weight
    def forward(self, ids: torch.Tensor):
        h = torch.zeros(ids.shape[0], 6)
        outs = []
        for t in range(ids.shape[1]):
            h = self.gru(self.emb(ids[:, t]), h)
            outs.append(self.head(h))
        return torch.stack(outs, 1)
torch.manual_seed(0)
m = RNNish()
ids = torch.randint(0, 11, (3, 2))
ep: ExportedProgram = export(m, (ids,), dynamic_shapes={"ids": {0: Dim("n", max=32)}})
print(ep)
mod = ep.module()
print(torch.allclose(mod(ids), m(ids)))
print(mod.code)
loss = mod(ids).sum()
loss.backward()
print([n for n, p in mod.named_parameters() if p.grad is not None])
opt = torch.optim.SGD(mod.parameters(), lr=0.1)
opt.step()
print([str(n.meta["val"]) for n in ep.graph.nodes if n.op == "call_function"][:2])
print(len(ep.graph.nodes), [n.target for n in ep.graph.nodes][-3:])
ep2 = ep.run_decompositions()
from collections import Counter
print(sorted(Counter(str(n.target) for n in ep2.graph.nodes if n.op == "call_function").items()))
for s in ep.graph_signature.input_specs: print(s)
for s in ep.graph_signature.output_specs: print(s)
try:
    mod(torch.zeros(40, 2, dtype=torch.long))
except Exception as e:
    print(type(e).__name__, e)
