"""What lies in files of their own in `torch.fx`: parts by tags, types, calls normalized, proxies that know sizes, where nodes come from."""
import warnings
warnings.simplefilter("ignore")
import torch, torch.fx as fx, operator
from torch.fx.passes.split_utils import split_by_tags, getattr_recursive, setattr_recursive
class M(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.l1 = torch.nn.Linear(2, 2); s.l2 = torch.nn.Linear(2, 3); s.p = torch.nn.Parameter(torch.ones(2)); s.seq = torch.nn.Sequential(torch.nn.ReLU())
    def forward(s, x, y):
        a = s.l1(x); b = s.seq(a) * s.p; c = s.l2(b + y); return c, a, s.p
torch.manual_seed(0)
gm = fx.symbolic_trace(M()); tags = {"l1": "one", "seq_0": "one", "mul": "two", "add": "two", "l2": "three"}
for n in gm.graph.nodes:
    if n.op not in ("placeholder", "output", "get_attr"): n.tag = tags[n.name]
s, names = split_by_tags(gm, ["one", "two", "three"], return_fqn_mapping=True)
print(s.code, names); print(s.one.code, s.two.code, s.three.code)
x = torch.randn(4, 2); print(all(torch.equal(a, b) for a, b in zip(s(x, x), gm(x, x))))
s = split_by_tags(gm, ["one", "two", "three"], return_tuple=True); print(s.code, s.three.code)
try: split_by_tags(gm, ["three", "two", "one"])
except Exception as e: print(type(e).__name__, e)
print(getattr_recursive(gm, "l1.weight").shape, getattr_recursive(gm, "no.way")); setattr_recursive(gm, "l1.foo", 3); print(gm.l1.foo)
from torch.fx.tensor_type import TensorType, Dyn, is_consistent, is_more_precise
t = TensorType((1, Dyn, 3)); print(t, TensorType[1, 2, 3], t == TensorType[1, Dyn, 3], is_consistent(t, TensorType((1, 2, 3))), is_more_precise(TensorType((1, 2, 3)), t), is_more_precise(t, TensorType((1, 2, 3))), is_consistent(Dyn, int), Dyn)
from torch.fx.annotate import annotate
def f(x): return annotate(x + 1, torch.Tensor).sum()
g = fx.symbolic_trace(f); print(g.code)
def f(x): return annotate(annotate(x + 1, torch.Tensor), int)
try: fx.symbolic_trace(f)
except Exception as e: print(type(e).__name__, e)
from torch.fx.experimental.normalize import NormalizeArgs, NormalizeOperators
class N(torch.nn.Module):
    def __init__(s): super().__init__(); s.c = torch.nn.Conv2d(1, 1, 1); s.l = torch.nn.Linear(2, 2)
    def forward(s, x): return torch.nn.functional.relu(torch.flatten(s.l(s.c(x)), 1)), torch.nn.functional.softmax(x, -1)
print(NormalizeArgs(fx.symbolic_trace(N())).transform().code); print(NormalizeArgs(fx.symbolic_trace(N()), normalize_to_only_use_kwargs=False).transform().code)
def h(x, y): return torch.add(x, y) * torch.mul(x, 2), torch.div(x, y), torch.eq(x, y), torch.add(x, y, alpha=2)
print(NormalizeOperators(fx.symbolic_trace(h)).transform().code)
from torch.fx.proxy import ParameterProxy, Scope, ScopeContextManager, MetaProxy
class P(torch.nn.Module):
    def __init__(s): super().__init__(); s.w = torch.nn.Parameter(torch.ones(3, 2))
    def forward(s, x): return x @ s.w if s.w.shape[0] == 3 and s.w.dim() == 2 and s.w.numel() == 6 else x
t = fx.Tracer(param_shapes_constant=True); print(t.trace(P()))
sc = Scope("a", int)
with ScopeContextManager(sc, Scope("b", str)) as now: print(now.module_path, now.module_type)
print(sc.module_path, sc.module_type)
from torch.fx.traceback import NodeSource, NodeSourceAction, get_graph_provenance_json, format_stack, get_current_meta, set_current_meta, preserve_node_meta
n = gm.graph.find_nodes(op="call_function", target=operator.mul)[0]; a = NodeSource(n, "p1", NodeSourceAction.CREATE)
d = a.to_dict(); d = {**d, "graph_id": 7}; a = NodeSource._from_dict(d); print(a, end=""); print(a.to_dict(), a == NodeSource._from_dict(d), hash(a) == hash(NodeSource._from_dict(d)))
n.meta["from_node"] = [a]; b = NodeSource(n, "p2", [NodeSourceAction.REPLACE, NodeSourceAction.CREATE]); print(b.name, b.target, b.pass_name, b.action, b.from_node[0].name)
print(get_graph_provenance_json(gm.graph)); print(get_current_meta(), len(format_stack()) > 0)
with preserve_node_meta(), set_current_meta(n, "q"): print(sorted(get_current_meta()), get_current_meta()["from_node"][0].pass_name, format_stack())
from torch.fx.experimental.symbolic_shapes import ShapeEnv, DimDynamic, StatelessSymbolicContext
from torch.fx.experimental.symbolic_shapes import statically_known_false, is_concrete_bool, is_concrete_float, has_static_value, has_symbolic_sizes_strides, has_free_unbacked_symbols, is_accessor_node, is_symbol_binding_fx_node, guarding_hint_or_throw, optimization_hint, is_nested_int
from torch._subclasses.fake_tensor import FakeTensorMode
env = ShapeEnv(); m = FakeTensorMode(shape_env=env)
z = m.from_tensor(torch.ones(5, 3), symbolic_context=StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC, DimDynamic.STATIC])); k = z.shape[0]
print(statically_known_false(k == 4), statically_known_false(k < 0), statically_known_false(False), is_concrete_bool(k > 3), is_concrete_float(2.0), has_static_value(k), has_static_value(3), has_symbolic_sizes_strides(z), has_symbolic_sizes_strides(torch.ones(2)), has_free_unbacked_symbols(k), has_free_unbacked_symbols(z), guarding_hint_or_throw(k + 1), guarding_hint_or_throw(3), optimization_hint(k * 2), is_nested_int(k), is_nested_int(3))
u = env.create_unbacked_symint(); print(has_free_unbacked_symbols(u + 1), optimization_hint(u, fallback=9))
ep = torch.export.export(P(), (torch.ones(4, 3),), dynamic_shapes=({0: torch.export.Dim("n")},))
class Q(torch.nn.Module):
    def forward(s, x, k): return x.nonzero().sum() + k * x.shape[0] + x.sum().item()
ep = torch.export.export(Q(), (torch.ones(4, 3), 2), dynamic_shapes=({0: torch.export.Dim("n")}, None))
print([(n.name, bool(is_accessor_node(n)), is_symbol_binding_fx_node(n) is not None) for n in ep.graph.nodes])
import torch.utils._pytree as pt, collections
T = collections.namedtuple("T", "a b"); r = torch.ones(2).max(0)
print(pt.is_namedtuple(T), pt.is_namedtuple(T(1, 2)), pt.is_namedtuple_class(tuple), pt.is_namedtuple_instance(T(1, 2)), pt.is_structseq(r), pt.is_structseq_class(type(r)), pt.is_structseq_instance(T(1, 2)), pt.is_structseq(3), pt.is_namedtuple(r))
from torch.export.passes import move_to_device_pass
class R(torch.nn.Module):
    def __init__(s): super().__init__(); s.l = torch.nn.Linear(2, 2)
    def forward(s, x): return s.l(x).to("cpu") + torch.ones(2, device="cpu")
ep = torch.export.export(R(), (torch.ones(1, 2),)); moved = move_to_device_pass(ep, "meta"); print(moved.module()(torch.ones(1, 2, device="meta")).device, [n.kwargs for n in moved.graph.nodes if "device" in n.kwargs], moved.state_dict["l.weight"].device)
