# Equal calls merged, overloads stripped.
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch._functorch.compile_utils import fx_graph_cse, get_aten_target, get_outputs, get_placeholders, strip_overloads, raise_getitems
import torch.fx as fx


def count(f, *args):
    gm = make_fx(f, tracing_mode="fake")(*args)
    graph = fx_graph_cse(gm.graph)
    graph.lint()
    print(len(list(gm.graph.nodes)), len(list(graph.nodes)), [n.name for n in graph.nodes])
    new = fx.GraphModule(gm, graph)
    print(new.code.strip())
    got, want = new(*args), gm(*args)
    same = lambda a, b: torch.equal(a, b)
    print(all(map(same, got, want)) if isinstance(got, (tuple, list)) else same(got, want))
    return new


x = torch.arange(6.0).view(2, 3)
count(lambda x: x.sin() + x.sin() * (x.cos() + x.cos()), x)
count(lambda x: (x.sum(0) + x.sum(0), x.sum(1) + x.sum([1]) , x.sum(-1)), x)
count(lambda x: torch.rand_like(x) * 0 + torch.rand_like(x) * 0, x)
count(lambda x: x + 1 + (x + 1.0) + (x + 1) + (x + 0.0) + (x + -0.0), x)
count(lambda x: (x[:-1] + x[:-2]).sum() + x[:-1].sum() + x[:-2].sum(), x)
count(lambda x: (x.t(), x.t(), (x * 2).view(-1), (x * 2).view(-1)), x)
count(lambda x: (torch.zeros(2, 3) + x, torch.zeros(2, 3) * x), x)
gm = count(lambda x: torch.max(x, 1)[0] + torch.max(x, 1)[0] + torch.max(x, 1)[1], x)
keyed = fx_graph_cse(make_fx(lambda x: x.sin() + x.sin() * x.sin())(x).graph, extra_node_key=lambda n: n.name == "sin_1")
print([n.name for n in keyed.nodes], [n.name for n in keyed.nodes if n.op == "call_function"])
print(get_placeholders(gm.graph), get_outputs(gm.graph))
print([get_aten_target(n) for n in gm.graph.nodes if n.op == "call_function"])
strip_overloads(gm)
print(gm.code.strip())
print(gm(x))
traced = fx.symbolic_trace(lambda x: torch.sin(x) + torch.sin(x))
print(len(list(fx_graph_cse(traced.graph).nodes)), len(list(traced.graph.nodes)))
