import torch


@torch.compile
def normalize(x):
    centred = x - x.mean(dim=0)
    return centred / (centred.pow(2).sum() / x.shape[0]).sqrt()


# The first call compiles for 4 rows. The second compiles for any number of them: the third finds that ready.
for rows in (4, 7, 12):
    x = torch.arange(rows * 2.0).reshape(rows, 2).requires_grad_()
    normalize(x).pow(3).sum().backward()
    print(rows, "rows, grad norm", round(x.grad.norm().item(), 4))
