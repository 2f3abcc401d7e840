import torch

@torch.compile
def reduce(x, dim, keepdim, how):
    if how == "mean":
        return x.mean(dim, keepdim=keepdim)
    if how == "max":
        return x.max(dim, keepdim=keepdim).values
    return getattr(x, how)(dim, keepdim=keepdim)

x = torch.arange(12.0).view(3, 4)
print(reduce(x, 0, False, "mean"))
print(reduce(x, 1, False, "mean"))
print(reduce(x, -1, True, "max"))
print(reduce(x, (0, 1), True, "sum"))
print(reduce(x, None, True, "sum"))
