# trained for some steps through torch.compile's backend and aot_module
import torch
from torch._ops import HigherOrderOperator
from torch._C import DispatchKey
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, track_tensor_tree, disable_proxy_modes_tracing
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._functorch.aot_autograd import aot_module
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._higher_order_ops.utils import reenter_make_fx
import torch.utils._pytree as pytree


class Noted(HigherOrderOperator):
    def __init__(self):
        super().__init__("noted")

    def __call__(self, fn, *operands, note="none"):
        return super().__call__(fn, *operands, note=note)


noted = Noted()


class NotedFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, fn, back, note, x):
        ctx.save_for_backward(x)
        ctx.back, ctx.note = back, note
        with torch._C._AutoDispatchBelowAutograd():
            return noted(fn, x, note=note)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return None, None, None, noted(ctx.back, x, grad, note=ctx.note + "_backward")


def gelu_ish(x):
    return x * torch.sigmoid(1.702 * x)


def gelu_ish_back(x, grad):
    s = torch.sigmoid(1.702 * x)
    return grad * (s + 1.702 * x * s * (1 - s))


@noted.py_autograd_impl
def _(fn, *operands, note="none"):
    return NotedFn.apply(fn, gelu_ish_back, note, *operands)


@noted.py_impl(DispatchKey.CompositeExplicitAutograd)
def _(fn, *operands, note="none"):
    return fn(*operands)


@noted.py_impl(FakeTensorMode)
def _(mode, fn, *operands, note="none"):
    with mode:
        return fn(*operands)


@noted.py_impl(ProxyTorchDispatchMode)
def _(mode, fn, *operands, note="none"):
    with disable_proxy_modes_tracing():
        out = noted(fn, *operands, note=note)
    graph = reenter_make_fx(fn)(*operands)
    name = mode.tracer.get_fresh_qualname("noted_graph_")
    mode.tracer.root.register_module(name, graph)
    proxies = pytree.tree_map(mode.tracer.unwrap_proxy, (graph, *operands))
    out_proxy = mode.tracer.create_proxy("call_function", noted, proxies, {"note": note})
    return track_tensor_tree(out, out_proxy, constant=None, tracer=mode.tracer)


@noted.py_functionalize_impl
def _(ctx, fn, *operands, note="none"):
    unwrapped = ctx.unwrap_tensors(operands)
    with ctx.redispatch_to_next():
        return ctx.wrap_tensors(noted(ctx.functionalize(fn), *unwrapped, note=note))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)

    def forward(self, x):
        return self.b(noted(gelu_ish, self.a(x), note="act"))


def show(name):
    def compiler(gm, example):
        print(name, gm.code)
        return gm
    return compiler


torch.manual_seed(0)
net = Net()
compiled = aot_module(net, fw_compiler=show("forward"), bw_compiler=show("backward"), partition_fn=min_cut_rematerialization_partition)
x, y = torch.randn(16, 4), torch.randn(16, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = (compiled(x) - y).pow(2).mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    print(f"{loss.item():.5f}")
