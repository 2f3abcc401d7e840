"""A script's own AOTAutograd backend is given what a named one is: inputs that share memory, tensors given twice, parameters."""
import torch
from functorch.compile import aot_module_simplified, make_boxed_func, min_cut_rematerialization_partition
from torch._dynamo.backends.common import aot_autograd


def shapes(gm, inputs):
    print(" inputs", [tuple(t.shape) for t in inputs], "saved" if "primals" in gm.code else "", gm.code.count("as_strided"))
    return make_boxed_func(gm.forward)


def simplified(gm, inputs):
    return aot_module_simplified(gm, inputs, fw_compiler=shapes)


own = aot_autograd(fw_compiler=shapes)
for backend in (own, simplified):
    torch._dynamo.reset()

    @torch.compile(backend=backend)
    def f(a, b):
        a.add_(1)
        return a.sum() * 2 + b.sum()

    base = torch.zeros(4, 4)
    print(f(base[0], base[:, 0]), base.sum())
    torch._dynamo.reset()
    base = torch.zeros(4, 4)
    print(f(base[1], base[1]), base.sum())
    torch._dynamo.reset()
    base = torch.zeros(4, 4)
    print(f(base, base[1]), base.sum())
    torch._dynamo.reset()
    base = torch.zeros(4, 4)
    print(f(base[:2], base[2:]), base.sum())

    @torch.compile(backend=backend)
    def g(a, b):
        a.mul_(2)
        return (a * b).sum()

    leaf = torch.ones(4, requires_grad=True)
    base = leaf * 1
    g(base[:3], base[1:]).backward()
    print(leaf.grad)

    @torch.compile(backend=backend)
    def views(x):
        y = x.sin()
        return y, y.view(-1)

    with torch.no_grad():
        y, v = views(torch.ones(2, 2))
    print(v._base is y)


def saved(gm, inputs):
    print([n.name for n in gm.graph.nodes if n.op == "placeholder"], [str(n) for n in list(gm.graph.nodes)[-1].args[0]])
    return make_boxed_func(gm.forward)


cut = aot_autograd(fw_compiler=saved, bw_compiler=saved, partition_fn=min_cut_rematerialization_partition)
linear = torch.nn.Linear(3, 4, bias=False)
torch.compile(linear, backend=cut)(torch.ones(2, 3, requires_grad=True)).sum().backward()


def broken(gm, inputs):
    raise RuntimeError("no backward today")


late = aot_autograd(fw_compiler=lambda gm, inputs: make_boxed_func(gm.forward), bw_compiler=broken)
h = torch.compile(lambda x: (x.view(-1) * x.shape[0]).sum(), backend=late, dynamic=True)
z = h(torch.ones(3, 2, requires_grad=True))
print("forward", z.item())
try:
    z.backward()
except RuntimeError as error:
    print(type(error).__name__, error)
