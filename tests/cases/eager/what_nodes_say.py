import torch
from torch._dynamo.backends.common import aot_autograd
from functorch.compile import make_boxed_func
import torch.nn as nn

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.ln = nn.LayerNorm(8)
        self.fc2 = nn.Linear(8, 2)
    def forward(self, x):
        h = self.ln(self.fc1(x))
        h = torch.nn.functional.silu(h)
        with torch.no_grad():
            k = h.mean()
        h = h + k
        h = h * h
        return self.fc2(h).log_softmax(-1)

def table(name):
    def comp(gm, inps):
        print(name)
        base = None
        for n in gm.graph.nodes:
            if "seq_nr" in n.meta:
                if base is None:
                    base = n.meta["seq_nr"]
                src = n.meta.get("source_fn_stack", [])
                fwd = n.meta.get("fwd_source_fn_stack", [])
                print(n.meta["seq_nr"] - base, n.meta.get("original_aten"), n.name, [(s[0]) for s in src], [(s[0]) for s in fwd])
        return make_boxed_func(gm.forward)
    return comp

torch.manual_seed(0)
m = M()
cm = torch.compile(m, backend=aot_autograd(fw_compiler=table("forward"), bw_compiler=table("backward")))
x = torch.randn(3, 4, requires_grad=True)
y = cm(x)
nn.functional.nll_loss(y, torch.tensor([0, 1, 0])).backward()
print(x.grad.shape)
