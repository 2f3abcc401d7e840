# Operators on images and indices that Inductor takes apart, forward and backward.
import torch
import torch.nn.functional as F


def tensor(*sizes):
    return torch.rand(*sizes).requires_grad_()


def run(f, *args):
    torch._dynamo.reset()
    made = torch.compile(f)(*args)
    if made.requires_grad:
        made.sum().backward()


image, grid = tensor(2, 3, 5, 5), tensor(2, 4, 4, 2)
for mode in ("bilinear", "nearest"):
    for padding in ("zeros", "border", "reflection"):
        run(lambda x, g: F.grid_sample(x, g, mode, padding, align_corners=mode == "nearest"), image, grid)
run(lambda x, g: F.grid_sample(x, g, "bicubic", align_corners=False), image, grid)
run(lambda x: F.pad(x, (1, 2, 0, 1), mode="reflect"), image)
run(lambda x: F.pad(x, (2, 1), mode="reflect"), tensor(2, 3, 5))
run(lambda x: F.adaptive_max_pool2d(x, 2), tensor(2, 3, 6, 6))
run(lambda x: F.adaptive_max_pool2d(x, 1), tensor(2, 3, 6, 6))
run(lambda x: F.adaptive_max_pool2d(x, (4, 3)), tensor(2, 3, 6, 6))
run(lambda x: F.rrelu(x, training=True), tensor(3, 4))
run(lambda x: F.rrelu(x), tensor(3, 4))
run(lambda x: torch.normal(x, 1.0), tensor(3, 4))
run(lambda x, n: x.repeat_interleave(n, 0, output_size=6), tensor(3, 4), torch.tensor([1, 2, 3]))
run(lambda x, y: torch.block_diag(x, y), tensor(2, 3), tensor(3))
for offset in (-1, 0, 2):
    run(lambda x: x[torch.tril_indices(4, 5, offset)[0]], tensor(4, 4))
    run(lambda x: x[torch.triu_indices(4, 5, offset)[0]], tensor(4, 4))
few, many = torch.arange(3), torch.arange(40)
run(lambda x, y: torch.isin(x, y), many, few)
run(lambda x, y: torch.isin(x, y, invert=True), few, many)
run(lambda x: torch.isin(x, 2), few)
