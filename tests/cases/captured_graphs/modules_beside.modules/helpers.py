import torch

scale = 3.0


def double(x):
    return x * 2


def scaled(x):
    y = x * scale
    return y.sin()


def broken(x):
    y = x + 1
    print("in broken")
    return y.cos()


def whole(x, steps):
    for step in steps:
        x = step(x)
    return torch.relu(x)
