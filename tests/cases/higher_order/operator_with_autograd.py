# an operator with a derivative of its own, by torch.autograd.Function, in aot_function
import torch
from torch._ops import HigherOrderOperator
from torch._C import DispatchKey
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, make_fx, track_tensor_tree
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._functorch.aot_autograd import aot_function
from torch._higher_order_ops.utils import reenter_make_fx
import torch.utils._pytree as pytree


class Clipped(HigherOrderOperator):
    """calls fn, and clips the gradient"""
    def __init__(self):
        super().__init__("clipped_call")

    def __call__(self, fn, bound, *operands):
        return super().__call__(fn, bound, *operands)


clipped = Clipped()


class ClippedFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, fn, bound, *operands):
        ctx.fn, ctx.bound = fn, bound
        ctx.save_for_backward(*operands)
        with torch._C._AutoDispatchBelowAutograd():
            return clipped(fn, bound, *operands)

    @staticmethod
    def backward(ctx, grad):
        operands = ctx.saved_tensors
        fn, bound = ctx.fn, ctx.bound

        def back(grad, *operands):
            with torch.enable_grad():
                inputs = [o.detach().requires_grad_() for o in operands]
                out = fn(*inputs)
            return torch.autograd.grad(out, inputs, grad)

        grads = back(grad, *operands)
        return (None, None, *[g.clamp(-bound, bound) for g in grads])


@clipped.py_autograd_impl
def clipped_autograd(fn, bound, *operands):
    return ClippedFunction.apply(fn, bound, *operands)


@clipped.py_impl(DispatchKey.CompositeExplicitAutograd)
def clipped_dense(fn, bound, *operands):
    return fn(*operands)


@clipped.py_impl(FakeTensorMode)
def clipped_fake(mode, fn, bound, *operands):
    with mode:
        return fn(*operands)


@clipped.py_impl(ProxyTorchDispatchMode)
def clipped_proxy(mode, fn, bound, *operands):
    graph = reenter_make_fx(fn)(*operands)
    name = mode.tracer.get_fresh_qualname("clipped_body")
    mode.tracer.root.register_module(name, graph)
    proxies = pytree.tree_map(mode.tracer.unwrap_proxy, (graph, bound, *operands))
    out_proxy = mode.tracer.create_proxy("call_function", clipped, proxies, {})
    out = clipped(graph, bound, *operands)
    return track_tensor_tree(out, out_proxy, constant=None, tracer=mode.tracer)


@clipped.py_functionalize_impl
def clipped_functional(ctx, fn, bound, *operands):
    unwrapped = ctx.unwrap_tensors(operands)
    with ctx.redispatch_to_next():
        out = clipped(ctx.functionalize(fn), bound, *unwrapped)
        return ctx.wrap_tensors(out)


def body(x, w):
    return (x @ w).tanh()


torch.manual_seed(0)
x, w = torch.randn(4, 3), torch.randn(3, 2, requires_grad=True)
out = clipped(body, 0.1, x, w)
out.sum().backward()
print(out, w.grad)
w.grad = None


def show(name):
    def compiler(gm, example):
        print(name)
        gm.print_readable()
        return gm
    return compiler


def f(x, w):
    return clipped(body, 0.1, x.relu(), w).sum()


compiled = aot_function(f, fw_compiler=show("forward"), bw_compiler=show("backward"))
loss = compiled(x, w)
loss.backward()
print(loss, w.grad)
with torch.no_grad():
    print(aot_function(f, fw_compiler=show("inference"))(x, w))

def step(x, w):
    w = w.detach().requires_grad_()
    loss = f(x, w)
    return torch.autograd.grad(loss, w)

make_fx(step)(x, w).print_readable()
