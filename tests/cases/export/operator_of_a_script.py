# in an exported program; several results; symbols
import torch
from torch._ops import HigherOrderOperator
from torch._C import DispatchKey
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, make_fx, track_tensor_tree
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._higher_order_ops.utils import reenter_make_fx, unique_graph_id
import torch.utils._pytree as pytree
from torch.export import export, Dim


class Pair(HigherOrderOperator):
    def __init__(self):
        super().__init__("pair_call")

    def __call__(self, first, second, operands):
        return super().__call__(first, second, operands)


pair_call = Pair()


@pair_call.py_impl(DispatchKey.CompositeExplicitAutograd)
def dense(first, second, operands):
    return first(*operands), second(*operands)


@pair_call.py_autograd_impl
def autograd(first, second, operands):
    return dense(first, second, operands)


@pair_call.py_impl(FakeTensorMode)
def fake(mode, first, second, operands):
    with mode:
        return first(*operands), second(*operands)


@pair_call.py_impl(ProxyTorchDispatchMode)
def proxy(mode, first, second, operands):
    graphs = [reenter_make_fx(f)(*operands) for f in (first, second)]
    for kind, graph in zip(("first_graph", "second_graph"), graphs):
        _, name = unique_graph_id(mode, prefix=kind)
        mode.tracer.root.register_module(name, graph)
    proxies = pytree.tree_map(mode.tracer.unwrap_proxy, (*graphs, operands))
    out_proxy = mode.tracer.create_proxy("call_function", pair_call, proxies, {})
    out = (first(*operands), second(*operands)) if False else pair_call(*graphs, operands)
    return track_tensor_tree(out, out_proxy, constant=None, tracer=mode.tracer)


@pair_call.py_functionalize_impl
def functional(ctx, first, second, operands):
    unwrapped = ctx.unwrap_tensors(operands)
    with ctx.redispatch_to_next():
        out = pair_call(ctx.functionalize(first), ctx.functionalize(second), unwrapped)
        return ctx.wrap_tensors(out)


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 2)

    def forward(self, x):
        y = self.lin(x)
        a, b = pair_call(lambda t: t.relu(), lambda t: t.sum(0), (y,))
        return a + 1, b * 2


torch.manual_seed(0)
m = M()
with torch.no_grad():
    make_fx(m)(torch.randn(4, 3)).print_readable()
    h = lambda y: pair_call(lambda t: t.relu(), lambda t: t.sum(0), (y * 2,))
    g = make_fx(h, tracing_mode="symbolic")(torch.randn(4, 3))
    g.print_readable()
    print(g(torch.ones(2, 3)))
    ep = export(m, (torch.randn(4, 3),))
    print(ep)
    print(ep.module()(torch.ones(4, 3)))
