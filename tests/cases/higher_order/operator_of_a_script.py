# call a function once and scale what it gives: CompositeExplicitAutograd alone, then all keys
import torch
from torch._ops import HigherOrderOperator
from torch._C import DispatchKey
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, make_fx, track_tensor_tree, disable_proxy_modes_tracing
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._higher_order_ops.utils import reenter_make_fx, unique_graph_id, autograd_not_implemented
import torch.utils._pytree as pytree


class CallScaled(HigherOrderOperator):
    def __init__(self):
        super().__init__("call_scaled")

    def __call__(self, fn, operands, scale):
        return super().__call__(fn, operands, scale)


call_scaled = CallScaled()


@call_scaled.py_impl(DispatchKey.CompositeExplicitAutograd)
def call_scaled_dense(fn, operands, scale):
    return fn(*operands) * scale


call_scaled.py_impl(DispatchKey.Autograd)(autograd_not_implemented(call_scaled, deferred_error=True))


@call_scaled.py_impl(FakeTensorMode)
def call_scaled_fake(mode, fn, operands, scale):
    with mode:
        return fn(*operands) * scale


@call_scaled.py_impl(ProxyTorchDispatchMode)
def call_scaled_proxy(mode, fn, operands, scale):
    graph = reenter_make_fx(fn)(*operands)
    _, name = unique_graph_id(mode, prefix="body_graph")
    mode.tracer.root.register_module(name, graph)
    args = (graph, operands, scale)
    proxy_args = pytree.tree_map(mode.tracer.unwrap_proxy, args)
    out_proxy = mode.tracer.create_proxy("call_function", call_scaled, proxy_args, {}, name="scaled")
    with disable_proxy_modes_tracing():
        out = fn(*operands) * scale
    return track_tensor_tree(out, out_proxy, constant=None, tracer=mode.tracer)


@call_scaled.py_functionalize_impl
def call_scaled_functional(ctx, fn, operands, scale):
    unwrapped = ctx.unwrap_tensors(operands)
    with ctx.redispatch_to_next():
        out = call_scaled(ctx.functionalize(fn), unwrapped, scale)
        return ctx.wrap_tensors(out)


def body(x, y):
    return x.sin() + y.cos()


x, y = torch.ones(3), torch.arange(3.0)
print(call_scaled, call_scaled.name(), call_scaled.namespace, call_scaled.__module__, repr(call_scaled).split(" at ")[0])
print(torch.ops.higher_order.call_scaled if hasattr(torch.ops.higher_order, "call_scaled") else "not in torch.ops")
print(call_scaled(body, (x, y), 2.0))
print(call_scaled.has_kernel_for_dispatch_key(DispatchKey.Autograd), call_scaled.has_kernel_for_dispatch_key(DispatchKey.CPU))


def f(x, y):
    return call_scaled(body, (x * 2, y), 3.0) + 1


g = make_fx(f)(x, y)
g.print_readable()
print(g.code)
print(g(x, y), f(x, y))
g = make_fx(torch.func.functionalize(f))(x, y)
g.print_readable()
g = make_fx(f, tracing_mode="symbolic")(x, y)
g.print_readable()
g = make_fx(f, tracing_mode="fake")(x, y)
print(g.code)
w = torch.ones(3, requires_grad=True)
out = call_scaled(body, (w, y), 2.0)
print(out)
try:
    out.sum().backward()
except RuntimeError as e:
    print(type(e).__name__, e)
with FakeTensorMode() as mode:
    print(call_scaled(body, (torch.ones(3), torch.ones(3)), 2.0))
