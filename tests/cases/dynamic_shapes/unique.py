"""`unique` in a graph: a size that values decide."""

import torch

torch._dynamo.config.capture_dynamic_output_shape_ops = True


@torch.compile(fullgraph=True)
def distinct(x):
    values = torch.unique(x)
    return values + 1, values.shape[0]


print(distinct(torch.tensor([3, 1, 3, 2])))
print(distinct(torch.tensor([5, 5])))
