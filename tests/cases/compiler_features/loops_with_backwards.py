# A while_loop that is differentiated keeps what every step gave, and its backward is a loop over these.
import torch
from torch._higher_order_ops.while_loop import while_loop


@torch.compile(fullgraph=True)
def powers(x, w, steps):
    def goes_on(i, y):
        return i < steps

    def step(i, y):
        return i + 1, (y @ w).sin() + x

    _, y = while_loop(goes_on, step, (torch.tensor(0), x * 1))
    return y


torch.manual_seed(0)
x = torch.randn(2, 3, requires_grad=True)
w = torch.randn(3, 3, requires_grad=True)
for steps in (1, 4):
    y = powers(x, w, torch.tensor(steps))
    y.pow(2).sum().backward()
    z = x * 1
    for _ in range(steps):
        z = (z @ w).sin() + x
    want = torch.autograd.grad(z.pow(2).sum(), (x, w))
    print(y.grad_fn is not None, torch.allclose(y, z), torch.allclose(x.grad, want[0], atol=1e-5), torch.allclose(w.grad, want[1], atol=1e-5))
    x.grad = w.grad = None


def swapped(n):
    return while_loop(lambda i, a, b: i < n, lambda i, a, b: (i + 1, b, a + b), (torch.tensor(0), torch.tensor(0), torch.tensor(1)))


try:
    print(swapped(10))
except Exception as e:
    print(type(e).__name__, "aliasing" in str(e))
