import torch
from torch.utils.checkpoint import checkpoint, GraphExecGroup, set_checkpoint_early_stop, CheckpointError, set_checkpoint_debug_enabled

calls = 0


def f(x):
    global calls
    calls += 1
    a = x.sin().exp()
    b = x.cos().exp()
    return a, b


x = torch.ones(3, requires_grad=True)
a, b = checkpoint(f, x, use_reentrant=False)
with GraphExecGroup():
    a.sum().backward(retain_graph=True)
    print(calls)
    b.sum().backward()
    print(calls)
x.grad = None
calls = 0
a, b = checkpoint(f, x, use_reentrant=False)
a.sum().backward(retain_graph=True)
b.sum().backward()
print(calls, x.grad)
try:
    with GraphExecGroup():
        with GraphExecGroup():
            pass
except RuntimeError as e:
    print(str(e)[:40])


def inner(x):
    y = x.sin()
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return g * y.exp()


for stop in (True, False):
    x.grad = None
    with set_checkpoint_early_stop(stop):
        out = checkpoint(inner, x, use_reentrant=False)
        out.sum().backward()
        print(stop, x.grad)
try:
    checkpoint(f, x, use_reentrant=False, determinism_check="strict")
except ValueError as e:
    print(e)
try:
    checkpoint(f, x, use_reentrant=True, respect_saved_tensors_hooks=True)
except ValueError as e:
    print(e)


class Odd(torch.nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return x.sin() if self.calls == 1 else x.sin().cos()


y = checkpoint(Odd(), x, use_reentrant=False).sum()
y.backward()


class Less(torch.nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return x.sin() if self.calls == 2 else x.sin().cos()


y = checkpoint(Less(), x, use_reentrant=False).sum()
try:
    y.backward()
except CheckpointError as e:
    print(e)


class Shape(torch.nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return x.sin() if self.calls == 1 else x[:2].sin()


y = checkpoint(Shape(), x, use_reentrant=False).sum()
try:
    y.backward()
except CheckpointError as e:
    print(e)
try:
    with set_checkpoint_debug_enabled(True):
        checkpoint(f, x, use_reentrant=False, context_fn=lambda: (1, 2))
except ValueError as e:
    print(e)
with set_checkpoint_debug_enabled(True):
    y = checkpoint(Shape(), x, use_reentrant=False, debug=False).sum()
try:
    y.backward()
except CheckpointError as e:
    text = str(e)
    print([line for line in text.splitlines() if line.startswith("$1") and "sin" in line][-1])
    print("1. Stack traces of the operators" in text, text.count("of 2 in"), repr(e.__cause__)[:60])
