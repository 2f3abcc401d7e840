"""Regions that are compiled once and write to what they are given."""

import torch
@torch.compiler.nested_compile_region
def body(x, y):
    x.add_(1)
    return x * y

def f(x, y):
    a = body(x, y)
    b = body(x, y)
    return a + b
x, y = torch.ones(3), torch.arange(3.0)
def backend(gm, ins):
    gm.print_readable()
    return gm
print(torch.compile(f, backend=backend, fullgraph=True)(x, y), x)
torch._dynamo.reset()
from functorch.compile import aot_module_simplified, make_boxed_func
def show(name):
    def c(gm, ins):
        print(name); gm.print_readable(); return make_boxed_func(gm)
    return c
def aot(gm, ins):
    return aot_module_simplified(gm, ins, fw_compiler=show("F"), bw_compiler=show("B"), inference_compiler=show("I"))
print(torch.compile(f, backend=aot, fullgraph=True)(x, y), x)
torch._dynamo.reset()
w = torch.ones(3, requires_grad=True)
try:
    print(torch.compile(f, backend=aot, fullgraph=True)(x, w), x)
except Exception as e:
    print(type(e).__name__, str(e).split(" If you")[0])


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))
        self.w = torch.nn.Parameter(torch.ones(4))

    @torch.compiler.nested_compile_region
    def forward(self, x):
        self.count.add_(1)
        return x * self.w + self.count


torch._dynamo.reset()
m = torch.nn.Sequential(Counting(), Counting())
with torch.no_grad():
    print(torch.compile(m, backend="aot_eager", fullgraph=True)(torch.ones(2, 4)), m[0].count, m[1].count)
