# A backward inside of a compiled function ends its graph; the script's functions that the engine calls are frames of their own.
import torch
from torch.utils.checkpoint import checkpoint

w = torch.linspace(0.0, 1.0, 4).requires_grad_()


def on_gradient(g):
    return g.sin() + 1


def on_leaf(leaf):
    leaf.grad.mul_(0.5)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.cos() * x


@torch.compile
def step(x):
    loss = (x * w).tanh().sum()
    loss.backward()
    return loss * 2


handles = [w.register_hook(on_gradient), w.register_post_accumulate_grad_hook(on_leaf)]
for _ in range(2):
    print(step(torch.ones(4)), w.grad)
for handle in handles:
    handle.remove()


@torch.compile
def backward(loss):
    loss.backward()


def block(x):
    return torch.sigmoid(x * w)


def unpack(t):
    return t * 2


w.grad = None
backward(Twice.apply(w).exp().sum())
print(w.grad)
w.grad = None
backward((checkpoint(block, w * 1, use_reentrant=False) * 3).sum())
print(w.grad)
w.grad = None
with torch.autograd.graph.saved_tensors_hooks(lambda t: t / 2, unpack):
    loss = (w * w.cos()).sum()
backward(loss)
print(w.grad)
w.grad = None
loss = w.exp()
loss.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + outputs[0],))
loss.grad_fn.register_prehook(lambda outputs: (outputs[0] * 2,))
backward(loss.sum())
print(w.grad)
linear = torch.nn.Linear(4, 2)
torch.nn.init.constant_(linear.weight, 0.5)
linear.register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * 2,))
w.grad = None
backward(linear(w).sum())
print(w.grad)
