import torch

x, y = torch.ones(2), torch.zeros(2)


@torch.compile
def weighed(a, b, c):
    return a + b * c


weighed(x, y, x)
weighed(x, x, x)
weighed(x, y, y)
weighed(x, y, torch.ones(2))
