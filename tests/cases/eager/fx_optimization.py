"""Modules fused for inference, equal nodes made one, parts that are constant folded."""
import torch, torch.fx as fx
import warnings
warnings.simplefilter("ignore")
from torch.fx.experimental.optimization import fuse, remove_dropout, matches_module_pattern, replace_node_module, extract_subgraph
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.c = torch.nn.Conv2d(3, 4, 3); self.b = torch.nn.BatchNorm2d(4); self.d = torch.nn.Dropout(0.5); self.l = torch.nn.Linear(4, 2)
    def forward(self, x): return self.l(self.d(torch.relu(self.b(self.c(x))).mean((2, 3))))
torch.manual_seed(0)
m = M().eval(); m.b.running_mean.normal_(); m.b.running_var.uniform_(0.5, 2)
x = torch.randn(2, 3, 6, 6)
f = fuse(m); print(f.code, torch.allclose(f(x), m(x), atol=1e-5), [type(c).__name__ for c in f.children()])
r = remove_dropout(m); print(r.code)
from torch.nn.utils.fusion import fuse_conv_bn_eval
print(torch.allclose(fuse_conv_bn_eval(m.c, m.b)(x), m.b(m.c(x)), atol=1e-5))
from torch.fx.passes.dialect.common.cse_pass import CSEPass
def g(x):
    a = x.sin() + 1; b = x.sin() + 1
    return a * b
gm = fx.experimental.proxy_tensor.make_fx(g)(torch.ones(2))
res = CSEPass()(gm); print(res.modified, res.graph_module.code)
from torch.fx.passes.graph_manipulation import replace_target_nodes_with
t = fx.symbolic_trace(g)
replace_target_nodes_with(t, "call_method", "sin", "call_method", "cos"); t.recompile(); print(t.code)
from torch.fx.experimental.const_fold import split_const_subgraphs
class C(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.a = torch.nn.Parameter(torch.ones(2)); s.b = torch.nn.Parameter(torch.ones(2) * 2)
    def forward(s, x): return x + (s.a * s.b).exp()
fold = split_const_subgraphs(C()); print(fold.code, fold(torch.zeros(2)))
class D(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.a = torch.nn.Parameter(torch.ones(2)); s.l = torch.nn.Linear(2, 2); s.register_buffer("k", torch.arange(2.))
    def forward(s, x):
        y, z = s.a * 2, s.k + 1
        return s.l(x * y) - z, z
torch.manual_seed(1)
d = D(); fold = split_const_subgraphs(d); x = torch.ones(1, 2)
print(fold.code, fold.has_folding_been_run, all(torch.equal(a, b) for a, b in zip(fold(x), d(x))), fold.has_folding_been_run, type(fold).__name__, fold.const_subgraph_module.code)
fold = split_const_subgraphs(d, skip_folding_node_fn=lambda n: n.op == "call_function" and n.name == "add"); print(fold.code, fold(x)[1])
print(split_const_subgraphs(torch.nn.Sequential(torch.nn.ReLU())).const_subgraph_module)
from torch.fx.operator_schemas import normalize_function
print(normalize_function(torch.add, (torch.ones(1), torch.ones(1)), {}, arg_types=(torch.Tensor, torch.Tensor), normalize_to_only_use_kwargs=True))
print(normalize_function(torch.nn.functional.relu, (torch.ones(1),), {"inplace": True}))
