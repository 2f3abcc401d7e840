# What a script annotates its calls with stands in the metadata of the nodes that they become, in the backward, too.
import torch
import torch.fx.traceback as fx_traceback
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd


def shows(name):
    def compiler(gm, inputs):
        for node in gm.graph.nodes:
            if node.op == "call_function":
                print(name, node.name, node.meta.get("custom"))
        return make_boxed_func(gm.forward)

    return compiler


backend = aot_autograd(fw_compiler=shows("forward"), bw_compiler=shows("backward"))


@torch.compile(backend=backend)
def nested(x, w):
    with fx_traceback.annotate({"stage": "mix"}):
        y = x @ w
        with fx_traceback.annotate({"act": 1}):
            y = y.tanh()
    return (y * 2).sum()


w = torch.ones(2, 2, requires_grad=True)
nested(torch.ones(3, 2), w).backward()
print(w.grad)


@fx_traceback.annotate_fn({"of": "function", "list": [1, 2]})
def inner(x):
    return x.sin() * x


@torch.compile(backend=backend)
def called(x):
    return inner(x).cos()


called(torch.ones(2, requires_grad=True)).sum().backward()


def captured(gm, inputs):
    print([(node.name, node.meta.get("custom")) for node in gm.graph.nodes if node.op.startswith("call")])
    return gm


@torch.compile(backend=captured)
def plain(x):
    with fx_traceback.annotate({"text": "a" * 60}):
        y = x + 1
    return y * 2


plain(torch.ones(2))
