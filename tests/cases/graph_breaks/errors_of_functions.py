# What a function of PyTorch's raises, which is one call of the graph, ends as a TorchRuntimeError, whatever its class.
import torch
import torch.nn.functional as F


def dropped(x):
    return F.dropout(x + 1, p=1.5)


def resized(x):
    return F.interpolate(x[None, None], size=4, scale_factor=2)


def contracted(x):
    return torch.einsum("ij,jk->ik", x)


def mixed(x):
    return torch.addmm(torch.ones(3, 3, dtype=torch.int64), x[None].T, x[None])



for function in (dropped, resized, contracted, mixed):
    for called in (function, torch.compile(function, backend="aot_eager")):
        try:
            print(function.__name__, called(torch.ones(3)))
        except (RuntimeError, ValueError) as e:
            print(function.__name__, type(e).__name__, str(e).splitlines()[0])
norm = torch.nn.BatchNorm1d(3)
try:
    torch.compile(norm, backend="eager")(torch.ones(1, 3))
except RuntimeError as e:
    print(type(e).__name__, str(e).partition("got ")[2].splitlines()[0])
