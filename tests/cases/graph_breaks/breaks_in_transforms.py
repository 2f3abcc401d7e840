"""Graphs that would break inside of a transform break before its call, which Python makes."""

import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

x = torch.tensor([1.0, 2.0])


def breaks(u):
    y = u.sin()
    torch._dynamo.graph_break()
    return y * 2


def prints(u):
    print("called")
    return u * u


@torch.compiler.disable
def disabled(u):
    return u.cos()


def shows(name, function, *args):
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    print(name, torch.compile(function, backend=counter)(*args), counter.frame_count)


for inner in breaks, prints:
    total = lambda u: inner(u).sum()
    shows("grad", lambda v: grad(total)(v * 3) + 1, x)
    shows("vmap", lambda v: vmap(inner)(v * 3) + 1, x)
    shows("jvp", lambda v: jvp(inner, (v * 3,), (v,))[1] + 1, x)
    shows("vjp", lambda v: vjp(inner, v * 3)[0] + 1, x)
    shows("jacrev", lambda v: jacrev(inner)(v * 3) + 1, x)
    shows("jacfwd", lambda v: jacfwd(inner)(v * 3) + 1, x)
    shows("hessian", lambda v: hessian(total)(v * 3) + 1, x)
    shows("vmap of grad", lambda v: vmap(grad(total))(v * 3) + 1, x)
    shows("the transform itself", grad(total), x)
shows("grad", lambda v: grad(lambda u: disabled(u).sum())(v * 3) + 1, x)
shows("vmap", lambda v: vmap(disabled)(v * 3) + 1, x)
try:
    torch.compile(lambda v: grad(lambda u: breaks(u).sum())(v), backend="aot_eager", fullgraph=True)(x)
except torch._dynamo.exc.Unsupported as error:
    print(str(error).split("\n")[0])
