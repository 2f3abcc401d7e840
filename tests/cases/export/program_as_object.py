import torch, torch.nn as nn
import torch.export
from torch.export import export, Dim, ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, ExportGraphSignature

class MLP(nn.Module):
    """A small network."""
    def __init__(self, dims=(4, 8, 3)):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(dims[:-1], dims[1:])])
        self.act = nn.ReLU()
    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        for i, l in enumerate(self.layers):
            x = l(x)
            if i < len(self.layers) - 1:
                x = self.act(x)
        return x * scale

torch.manual_seed(0)
model = MLP().eval()
args = (torch.randn(2, 4),)
ep = torch.export.export(model, args, strict=True)
for node in ep.graph.nodes:
    if node.op == "call_function":
        print(f"{node.name:<12} {str(node.target):<28} {tuple(node.meta['val'].shape)} {node.meta['val'].dtype} users={len(node.users)}")
n_params = sum(p.numel() for p in ep.parameters())
print("params", n_params, [k for k in ep.state_dict])
m2 = ep.module()
torch.testing.assert_close(m2(*args), model(*args))
compiled = torch.compile(m2, backend="aot_eager")
torch.testing.assert_close(compiled(*args), model(*args))
for n in list(ep.graph_module.graph.nodes):
    if n.target == torch.ops.aten.relu.default:
        with ep.graph_module.graph.inserting_after(n):
            new = ep.graph_module.graph.call_function(torch.ops.aten.gelu.default, n.args)
        n.replace_all_uses_with(new)
        ep.graph_module.graph.erase_node(n)
ep.graph_module.recompile()
print(ep.graph_module.code)
ins = [s for s in ep.graph_signature.input_specs if s.kind == InputKind.PARAMETER]
print(ins[0])
print(ins[0].arg, ins[0].target, ep.graph_signature.output_specs[0].kind)
try:
    export(model, (torch.randn(2, 5),))
except Exception as e:
    print(type(e).__name__, str(e)[:120])
try:
    export(model, (torch.randn(2, 4),), dynamic_shapes={"x": {0: Dim("b"), 1: Dim("f")}, "scale": None})
except Exception as e:
    print(type(e).__name__, str(e)[:300])
ep3 = export(model, (torch.randn(2, 4), 2.0), dynamic_shapes={"x": {0: Dim("b")}, "scale": None})
print(ep3.graph_signature)
print(ep3.module()(torch.ones(5, 4), 2.0).shape)
try:
    ep3.module()(torch.ones(5, 4), 3.0)
except Exception as e:
    print(type(e).__name__, e)
