import torch
from torch._higher_order_ops.scan import scan


@torch.compile
def running(init, xs):
    y = xs.exp()

    def step(carry, x):
        new = carry * 0.5 + x.tanh()
        return new, new * 2

    carry, ys = scan(step, init, y, dim=0)
    return carry.sum() + ys.relu().sum()


@torch.compile
def recurrent(xs, state, w, u):
    def step(state, x):
        new = torch.sigmoid(x @ w + state @ u)
        return new + 1, new.clone()

    last, outputs = scan(step, state, xs, reverse=True)
    return outputs.mean() + last.sum()


@torch.compile
def returned_and_kept(init, xs):
    # What is returned and is kept for the backward, too, would be one tensor twice.
    return scan(lambda c, x: (c.sin() * x, (c * x).exp()), init, xs)


xs = torch.linspace(0, 1, 6).reshape(3, 2).requires_grad_()
init = torch.ones(2)
out = running(init, xs)
print(out)
out.backward()
print(xs.grad)
rows = torch.linspace(-1, 1, 12).reshape(2, 2, 3).requires_grad_()
state = torch.zeros(2, 2, requires_grad=True)
w = torch.linspace(0, 1, 6).reshape(3, 2).requires_grad_()
u = torch.linspace(-1, 0, 4).reshape(2, 2).requires_grad_()
out = recurrent(rows, state, w, u)
print(out)
out.backward()
print(rows.grad, state.grad, w.grad, u.grad, sep="\n")
try:
    carry, ys = returned_and_kept(init, xs)
    print(carry, ys)
except Exception as e:
    print(type(e).__name__, "aliasing" in str(e))
