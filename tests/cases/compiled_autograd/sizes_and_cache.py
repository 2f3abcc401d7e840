import torch
import torch._dynamo.compiled_autograd as ca
from torch._dynamo.utils import counters


def captures():
    return counters["compiled_autograd"]["captures"]


def losses(n):
    w = torch.linspace(-1, 1, 3, requires_grad=True)
    yield w, (torch.ones(n, 3) * w).relu().sum()
    yield w, (torch.ones(n, 3) * w).tanh().sum()
    yield w, (torch.ones(n, 3) @ w).square().mean()


for dynamic in (True, False):
    ca.reset()
    for n in (2, 2, 3, 5, 4):
        for w, loss in losses(n):
            with ca._enable(torch.compile(backend="eager"), dynamic=dynamic):
                loss.backward()
            print(dynamic, n, captures(), [round(v, 4) for v in w.grad.tolist()])

f = torch.compile(lambda x, w: (x @ w).tanh().sum(), backend="aot_eager")
w = torch.ones(3, 2, requires_grad=True)
for n in (2, 3, 4, 5):
    with ca._enable(torch.compile(backend="aot_eager")):
        f(torch.ones(n, 3), w).backward()
    print(n, captures(), counters["stats"]["unique_graphs"])
    w.grad = None

p = torch.tensor([1.0, 2.0], requires_grad=True)
with ca._enable(torch.compile(backend="eager")):
    before = captures()
    for factor in (2, 3, 2.5):
        (p * factor).sum().backward()
    print(p.grad, captures() - before)
    p.grad = None
    with ca._disable():
        p.sin().sum().backward()
    print(captures() - before, torch.autograd.grad((p**3).sum(), p), captures() - before)
    (p * p).sum().backward(inputs=[p])
    print(p.grad, ca.compiled_autograd_enabled, ca.in_compiled_autograd_region)
print(ca.compiled_autograd_enabled)
