import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._decomp import core_aten_decompositions, get_decompositions
def comp(gm, inps):
    for n in gm.graph.nodes:
        if n.op == "call_function":
            print(n.target, [tuple(a.meta["val"].shape) for a in n.all_input_nodes if isinstance(a.meta.get("val"), torch.Tensor)])
    return make_boxed_func(gm.forward)
be = aot_autograd(fw_compiler=comp, bw_compiler=comp, decompositions=core_aten_decompositions())
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(4, 8); self.b = torch.nn.Linear(8, 2); self.d = torch.nn.Dropout(0.0)
    def forward(self, x):
        h = torch.nn.functional.silu(self.a(x))
        return torch.nn.functional.softplus(self.d(self.b(h))).mean()
torch.manual_seed(0)
m = M()
c = torch.compile(m, backend=be)
c(torch.ones(3, 4)).backward()
print(m.a.weight.grad.shape)
my = {torch.ops.aten.silu.default: lambda x: x * torch.sigmoid(x)}
c2 = torch.compile(m, backend=aot_autograd(fw_compiler=comp, decompositions=my))
torch._dynamo.reset()
c2(torch.ones(3, 4)).backward()
