# Sizes are remembered of a wrapper and the functions that it closes over.
import torch, torch._dynamo.testing, functools
cnt = torch._dynamo.testing.CompileCounterWithBackend("eager")
def show(t): print(t, [l.split("forward")[1] for l in cnt.graphs[-1].print_readable(print_output=False).split("\n") if "def forward" in l])
from torch.func import vmap, grad
a = torch.compile(vmap(lambda x: x.sin()), backend=cnt); a(torch.ones(2, 3)); show("a"); a(torch.ones(4, 3)); show("a2")
torch._dynamo.reset()
a = torch.compile(vmap(lambda x: x.sin()), backend=cnt); a(torch.ones(2, 3)); show("a")
b = torch.compile(vmap(lambda x: x.cos()), backend=cnt); b(torch.ones(4, 3)); show("b")
b(torch.ones(5, 3)); show("b2")
torch._dynamo.reset()
a = torch.compile(grad(lambda x: x.sin().sum()), backend=cnt); a(torch.ones(2, 3)); show("ga")
b = torch.compile(grad(lambda x: x.cos().sum()), backend=cnt); b(torch.ones(4, 3)); show("gb")
torch._dynamo.reset()
def deco(fn):
    @functools.wraps(fn)
    def w(*args): return fn(*args)
    return w
a = torch.compile(deco(lambda x: x.sin()), backend=cnt); a(torch.ones(2, 3)); show("da")
b = torch.compile(deco(lambda x: x.cos()), backend=cnt); b(torch.ones(4, 3)); show("db")
torch._dynamo.reset()
def deco(fn):
    def w(*args): return fn(*args)
    return w
a = torch.compile(deco(lambda x: x.sin()), backend=cnt); a(torch.ones(2, 3)); show("ea")
b = torch.compile(deco(lambda x: x.cos()), backend=cnt); b(torch.ones(4, 3)); show("eb")
torch._dynamo.reset()
a = torch.compile(functools.partial(lambda k, x: x.sin(), 1), backend=cnt); a(torch.ones(2, 3)); show("pa")
b = torch.compile(functools.partial(lambda k, x: x.cos(), 1), backend=cnt); b(torch.ones(4, 3)); show("pb")
torch._dynamo.reset()
a = torch.compile(torch.sin, backend=cnt); a(torch.ones(2, 3)); show("ta")
b = torch.compile(torch.cos, backend=cnt); b(torch.ones(4, 3)); show("tb")
torch._dynamo.reset()
a = torch.compile(torch.nn.functional.relu, backend=cnt); a(torch.ones(2, 3)); show("fa")
b = torch.compile(torch.nn.functional.gelu, backend=cnt); b(torch.ones(4, 3)); show("fb")
