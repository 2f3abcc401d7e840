import torch


@torch.compile
def step(x, buffer):
    y = x.clone()
    y[:, 0] = 0.0  # a write through a view
    y.mul_(2)
    row = y.view(-1)[:4]
    row += 1  # another view of the same memory
    buffer.copy_(y.detach().mean(0))  # a write to an argument
    return y.sum()


x = torch.arange(6.0).reshape(2, 3).requires_grad_()
buffer = torch.zeros(3)
step(x, buffer).backward()
print("buffer", buffer.tolist())
print("grad", x.grad.tolist())
