# a body that writes to what it is given: functionalized, or refused
import torch
from torch._ops import HigherOrderOperator
from torch._C import DispatchKey
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, make_fx, track_tensor_tree
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._functorch.aot_autograd import aot_function
from torch._higher_order_ops.utils import (
    reenter_make_fx, UnsupportedAliasMutationException, _has_potential_branch_input_mutation, redirect_to_mode,
    has_potential_input_alias_or_mutation,
)
import torch.utils._pytree as pytree


class Apply(HigherOrderOperator):
    def __init__(self):
        super().__init__("apply_body")

    def __call__(self, fn, operands):
        return super().__call__(fn, operands)


apply_body = Apply()


@apply_body.py_impl(DispatchKey.CompositeExplicitAutograd)
def dense(fn, operands):
    return fn(*operands)


@apply_body.py_autograd_impl
def autograd(fn, operands):
    with torch._C._AutoDispatchBelowAutograd():
        return apply_body(fn, operands)


@apply_body.py_impl(FakeTensorMode)
def fake(mode, fn, operands):
    with mode:
        return fn(*operands)


@apply_body.py_impl(ProxyTorchDispatchMode)
def proxy(mode, fn, operands):
    graph = reenter_make_fx(fn)(*operands)
    name = mode.tracer.get_fresh_qualname("apply_body")
    mode.tracer.root.register_module(name, graph)
    proxies = pytree.tree_map(mode.tracer.unwrap_proxy, (graph, operands))
    out_proxy = mode.tracer.create_proxy("call_function", apply_body, proxies, {})
    return track_tensor_tree(graph(*operands), out_proxy, constant=None, tracer=mode.tracer)


@apply_body.py_functionalize_impl
def functional(ctx, fn, operands):
    unwrapped = ctx.unwrap_tensors(operands)
    with ctx.redispatch_to_next():
        functional_fn = ctx.functionalize(fn)
        if _has_potential_branch_input_mutation(fn, unwrapped):
            raise UnsupportedAliasMutationException("apply_body: the body writes to its inputs")
        out = apply_body(functional_fn, unwrapped)
        return ctx.wrap_tensors(out)


def local(x):
    y = x.clone()
    y.add_(1)
    z = y.view(-1)
    z.mul_(2)
    return y, z.sum()


def writes(x):
    x.add_(1)
    return x * 2, x.sum()


def show(gm, example):
    gm.print_readable()
    return gm


x = torch.arange(6.0).reshape(2, 3)
f = lambda x: apply_body(local, (x,))
print(aot_function(f, fw_compiler=show)(x))
make_fx(torch.func.functionalize(f))(x).print_readable()
make_fx(f)(x).print_readable()
g = lambda x: apply_body(writes, (x,))
print(apply_body(writes, (x.clone(),)))
for trace in (lambda: aot_function(g, fw_compiler=show)(x), lambda: make_fx(torch.func.functionalize(g))(x)):
    try:
        trace()
    except UnsupportedAliasMutationException as e:
        print(type(e).__name__, e.reason, str(e))
    except RuntimeError as e:
        print(type(e).__name__, str(e))
make_fx(g)(x).print_readable()
