"""Annotations of calls in graphs that are traced without Dynamo."""

import torch
import torch.fx.traceback as traceback
from torch._functorch.aot_autograd import aot_function
from torch.fx.experimental.proxy_tensor import make_fx


def g(a):
    b = a + 1
    with traceback.annotate({"k": "v"}):
        c = b * b
        with traceback.annotate({"j": 1, "k": 2}):
            c = c.sin()
    return c.relu()


def show(gm, *_):
    print([(n.name, n.meta.get("custom")) for n in gm.graph.nodes if n.op.startswith("call")])
    return gm


class M(torch.nn.Module):
    def forward(self, x):
        return g(x)


show(make_fx(g)(torch.ones(2)))
with traceback.preserve_node_meta():
    show(make_fx(g)(torch.ones(2)))
    show(torch.fx.symbolic_trace(g))
    with traceback.annotate({"all": 1}):
        show(make_fx(g, tracing_mode="symbolic")(torch.ones(2)))
show(torch.export.export(M(), (torch.ones(2),)))
aot_function(g, fw_compiler=show)(torch.ones(2, requires_grad=True)).sum().backward()
