import torch
from torch._higher_order_ops.while_loop import while_loop


@torch.compile
def f(x, w):
    y = x.sin()
    i, out = while_loop(lambda i, c: i < 3, lambda i, c: (i + 1, torch.tanh(c @ w)), (torch.zeros((), dtype=torch.int64), y))
    return out.cos().sum()


x = torch.linspace(0, 1, 6).reshape(2, 3).requires_grad_()
w = torch.linspace(-1, 1, 9).reshape(3, 3).requires_grad_()
out = f(x, w)
print(out)
out.backward()
print(x.grad, w.grad)
