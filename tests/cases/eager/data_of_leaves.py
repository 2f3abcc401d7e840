import torch


def leaf(dtype=torch.float32):
    return torch.nn.Parameter(torch.tensor([1.0, 2.0], dtype=dtype))


def shown(f):
    try:
        print(f.__name__, f())
    except RuntimeError as error:
        print(f.__name__, str(error))


def other_dtype():
    p = leaf(torch.bfloat16)
    earlier = p * 2
    p.data = p.data.float()
    (p * torch.tensor([1 / 3, 1 / 7])).sum().backward()
    return p.grad, earlier.dtype


def earlier_result():
    p = leaf()
    earlier = p * 2
    p.data = p.data.double()
    earlier.sum().backward()
    return p.grad


def other_shape_with_a_result():
    p = leaf()
    earlier = p * 2
    p.data = torch.ones(3)
    (p * 2).sum().backward()
    return p.grad, earlier


def other_shape():
    p = leaf()
    p.data = torch.ones(3)
    (p * 2).sum().backward()
    return p.grad


def integers():
    p = leaf()
    p.data = torch.ones(3, dtype=torch.int64)


def hook():
    p = leaf()
    earlier = p * 2
    p.register_hook(lambda g: g * 10)
    p.data = p.data.double()
    (p * 2).sum().backward()
    return p.grad, earlier.dtype


def frozen():
    p = leaf()
    y = p * 2
    p.requires_grad_(False)
    y.sum().backward()
    return p.grad


def frozen_and_back():
    p = leaf()
    y = p * 2
    p.requires_grad_(False)
    p.requires_grad_(True)
    y.sum().backward()
    return p.grad


def module():
    m = torch.nn.Linear(1, 1, bias=False).bfloat16()
    y = m(torch.ones(1, 1, dtype=torch.bfloat16))
    m.float()
    m(torch.tensor([[1 / 3]])).backward()
    return m.weight.grad.dtype, m.weight.grad.item(), y.dtype


def trained():
    m = torch.nn.Linear(2, 2).bfloat16()
    optimizer = torch.optim.SGD(m.parameters(), lr=1.0)
    loss = m(torch.ones(1, 2).bfloat16()).sum()
    loss.backward()
    optimizer.step()
    m.float()
    optimizer.zero_grad()
    m(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    return m.weight.dtype, m.weight.grad.dtype, loss.dtype


def result():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.data = torch.ones(2).double()
    y.sum().backward()
    return x.grad


def compiled():
    m = torch.nn.Linear(2, 1).half()
    f = torch.compile(m, backend="aot_eager")
    earlier = f(torch.ones(1, 2).half())
    m.float()
    f(torch.full((1, 2), 1 / 3)).sum().backward()
    return m.weight.grad, earlier.dtype


for f in [
    other_dtype, earlier_result, other_shape_with_a_result, other_shape, integers, hook, frozen, frozen_and_back, module, trained, result,
    compiled,
]:  # fmt: skip
    shown(f)
