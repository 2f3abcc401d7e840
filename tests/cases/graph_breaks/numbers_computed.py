import torch


def of_a_number(x, n):
    k = n * 2 + 1
    y = x * 2
    z = y + k
    return z * (k * 3), y.sum() + n


def of_a_number_and_a_size(x, n):
    k = x.shape[0] * 2 + n
    y = x * 2
    return y + k


for f in (of_a_number, of_a_number_and_a_size):
    compiled = torch.compile(f)
    for n in (2, 4, 6):
        print(compiled(torch.ones(2 * n), n))
