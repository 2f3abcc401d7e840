import torch

w = torch.ones(3, requires_grad=True)
table = torch.ones(3)


def nothing_is_returned(x):
    y = x * 2
    return 1


def one_is_returned(x):
    table.mul_(2)
    return x


def after_a_break(x):
    y = x * 2
    print("break")
    z = w * 3
    return y


def beside_others(x):
    y = x * w
    print("break")
    z = w * 3
    return y, z


def after_backward(x):
    loss = (w * x).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        w.sub_(0.1 * w.grad)
        w.grad.zero_()
    return loss


for f in (nothing_is_returned, one_is_returned, after_a_break, beside_others, after_backward):
    compiled = torch.compile(f)
    for _ in range(2):
        print(f.__name__, compiled(torch.ones(3)))
