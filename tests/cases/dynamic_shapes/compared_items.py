"""Comparisons of items: returned, kept across a break, left in objects, given to operators."""
import torch

torch._dynamo.config.capture_scalar_outputs = True


@torch.compile
def returned(x):
    n = x.sum().item()
    return n * 2, n, n > 3


print(returned(torch.tensor([1, 2])), returned(torch.tensor([3, 4])))


@torch.compile
def across(x, y):
    n = x.sum().item()
    flags = {"a": n > 3}
    large = n > 5
    print("break")
    return flags, [large], y + 1


print(across(torch.tensor([1, 2]), torch.ones(2)))


class Holder:
    pass


holder = Holder()


@torch.compile
def left(x, holder):
    n = x.sum().item()
    y = x + 1
    holder.flag = n == 3
    return y


print(left(torch.tensor([1, 2]), holder), holder.flag, left(torch.tensor([1, 1]), holder), holder.flag)


@torch.compile
def given(x, y):
    n = x.sum().item()
    return y * (n > 3), torch.tensor(n > 3), torch.full((2,), n == 3), y + (n > 0)


print(given(torch.tensor([1, 2]), torch.ones(2)), given(torch.tensor([3, 2]), torch.ones(2)))
w = torch.ones(2, requires_grad=True)


@torch.compile
def differentiated(x, w):
    n = x.sum().item()
    return (w * (n > 3)).sum() + w[0] * n


differentiated(torch.tensor([4, 2]), w).backward()
print(w.grad)
