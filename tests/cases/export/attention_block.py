import torch
import torch.nn as nn
from torch.export import Dim, export

class Block(nn.Module):
    def __init__(self, d=8, h=2):
        super().__init__()
        self.ln = nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.fc1 = nn.Linear(d, 16)
        self.fc2 = nn.Linear(16, d)
        self.drop = nn.Dropout(0.1)

    def forward(self, x, mask=None):
        h = self.ln(x)
        q = self.fc1(h).view(x.shape[0], x.shape[1], -1)
        y = self.fc2(torch.nn.functional.gelu(q))
        y = self.drop(y)
        if mask is not None:
            y = y.masked_fill(mask, 0.0)
        return {"out": x + y, "mean": y.mean(dim=-1)}

torch.manual_seed(0)
m = Block().eval()
x = torch.randn(2, 5, 8)
batch = Dim("batch", min=1, max=64)
seq = Dim("seq")
ep = export(m, (x,), dynamic_shapes={"x": {0: batch, 1: seq}})
print(ep)
print(type(ep), type(ep.graph_module).__name__)
for n in ep.graph.nodes:
    print(n.op, n.name, n.target, n.meta["val"].shape if hasattr(n.meta.get("val"), "shape") else None)
print(ep.range_constraints)
print(sorted(ep.state_dict.keys()))
out = ep.module()(torch.ones(3, 7, 8))
print(out["out"].shape, out["mean"].sum())
print(ep.module())
ep.graph_module.print_readable()
print(ep.graph_signature.inputs_to_parameters)
print(ep.graph_signature.user_inputs, ep.graph_signature.user_outputs)
print(ep.call_spec)
