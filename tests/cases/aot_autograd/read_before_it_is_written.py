# What a subscript assignment reads becomes an input in order: the target, what its index holds, the value.
import torch


@torch.compile
def fill(new_keys, new_values, keys, values, places):
    keys[:, places] = new_keys
    values.index_copy_(1, places, new_values)
    return keys, (keys[:, :3] * values[:, :3]).sum()


keys, values = torch.zeros(1, 4, 2), torch.zeros(1, 4, 2)
filled, product = fill(torch.ones(1, 2, 2), torch.ones(1, 2, 2), keys, values, torch.tensor([1, 3]))
print(keys, values, filled is keys, product)
