import torch
from torch import nn
from torch.export import export, Dim, ShapesCollection, dims, register_dataclass
from torch.export.graph_signature import InputKind, OutputKind
from dataclasses import dataclass

class Counter(nn.Module):
    def __init__(s):
        super().__init__(); s.register_buffer("steps", torch.zeros(1)); s.register_buffer("tmp", torch.ones(2), persistent=False); s.w = nn.Parameter(torch.ones(2)); s.k = torch.tensor([3.0])
    def forward(s, x, cfg: dict, *rest, flag=True, **kw):
        s.steps.add_(x.shape[0])
        x.mul_(2)
        y = x * s.w + s.tmp * s.k
        for r in rest: y = y + r
        if flag: y = y - cfg["off"]
        return {"y": y, "extra": (kw["z"] + 1, 7, "tag", None)}
m = Counter()
args = (torch.ones(3, 2), {"off": torch.ones(2), "n": 5}, torch.ones(2), torch.zeros(2)); kw = dict(flag=True, z=torch.ones(1))
ep = export(m, args, kw)
print(ep.graph_signature)
print(ep)
for s in ep.graph_signature.input_specs: print(s.kind.name, type(s.arg).__name__, s.target, s.persistent)
for s in ep.graph_signature.output_specs: print(s.kind.name, s.arg, s.target)
print(ep.graph_signature.user_inputs, ep.graph_signature.user_outputs)
print(ep.graph_signature.buffers_to_mutate, ep.graph_signature.user_inputs_to_mutate, ep.graph_signature.inputs_to_buffers)
d = ep.run_decompositions()
print(d.graph_signature.buffers_to_mutate, d.graph_signature.user_inputs_to_mutate)
print([n.name for n in d.graph.nodes])
mod = ep.module()
x = torch.ones(3, 2)
out = mod(x, {"off": torch.ones(2), "n": 5}, torch.ones(2), torch.zeros(2), flag=True, z=torch.ones(1))
print(out, x[0], mod.steps)
print(sorted(ep.state_dict), sorted(ep.constants), [n for n, _ in ep.named_buffers()], [n for n, _ in ep.named_parameters()])
print(mod.code)
for bad in (lambda: mod(x, {"off": torch.ones(2), "n": 6}, torch.ones(2), torch.zeros(2), flag=True, z=torch.ones(1)), lambda: mod(x, {"off": torch.ones(2)}, flag=True, z=torch.ones(1)),
            lambda: mod(x, {"off": torch.ones(2), "n": 5}, torch.ones(2), torch.zeros(2), flag=False, z=torch.ones(1)), lambda: mod(torch.ones(4, 2), {"off": torch.ones(2), "n": 5}, torch.ones(2), torch.zeros(2), flag=True, z=torch.ones(1))):
    try: bad(); print("ok")
    except Exception as e: print(type(e).__name__, str(e)[:700])
