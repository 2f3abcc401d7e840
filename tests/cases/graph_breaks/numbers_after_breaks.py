import torch


def inner(x, k):
    y = x.sin() * k
    print("inner", k)
    return y.cos()


def called_in_a_loop(x):
    for i in range(4):
        x = inner(x, i) + 1
    return x


def while_a_tensor_is_small(x):
    n = 0
    while x.sum() < 20:
        x = x * 2
        n += 1
    return x, n


def leaves_early(x):
    steps = 0
    for i in range(5):
        x = x + 1
        if x.sum().item() > 5:
            break
        steps += 1
    return x, steps


def counts(x):
    c = 0
    c += 1
    x = x * c
    print(c)
    c += 1
    return x * c, c


def function_made_anew(x):
    def g(v):
        print("g")
        return v.sin()

    return g(x * 2) + g(x * 3)


for f in (called_in_a_loop, while_a_tensor_is_small, leaves_early, counts, function_made_anew):
    compiled = torch.compile(f)
    for _ in range(2):
        print(f.__name__, compiled(torch.ones(2)))
