"""Rows that a mask keeps, as part of the graph: nonzero, boolean indexing, masked_select and unique."""

import torch

torch._dynamo.config.capture_dynamic_output_shape_ops = True


@torch.compile(fullgraph=True)
def kept(x, scores):
    rows = x[scores > 0.5]
    return rows * 2, rows.sum(0)


@torch.compile(fullgraph=True)
def places(x):
    where = torch.nonzero(x > 0).squeeze(1)
    return x[where] + 1, where


@torch.compile(fullgraph=True)
def classes(labels):
    found = torch.unique(labels)
    return torch.zeros(10).index_fill(0, found, 1.0)


x = torch.arange(8.0).view(4, 2)
print(kept(x, torch.tensor([0.1, 0.7, 0.9, 0.2])), kept(x, torch.tensor([0.9, 0.7, 0.9, 0.2])))
print(places(torch.tensor([1.0, -1.0, 2.0])), places(torch.tensor([-1.0, -1.0, 2.0])))
print(classes(torch.tensor([3, 1, 3])))
