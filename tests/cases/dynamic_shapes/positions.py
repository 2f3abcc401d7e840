"""Sizes that values decide, where the script lets the graph hold them: `nonzero`, masks, `masked_select`."""

import torch

torch._dynamo.config.capture_dynamic_output_shape_ops = True


@torch.compile(fullgraph=True)
def positions(x):
    return x.nonzero() * 2


@torch.compile(fullgraph=True)
def chosen(x):
    return torch.masked_select(x, x > 0).square()


@torch.compile(fullgraph=True)
def masked(x, y):
    return (x[y > 1] * 3).sum()


x = torch.tensor([[1.0, -2.0, 0.0], [3.0, 0.5, -1.0]])
print(positions(x), positions(x.abs()))
print(chosen(x), chosen(x - 10))
leaf = x.clone().requires_grad_()
masked(leaf, x.abs()).backward()
print(leaf.grad)
