"""Bits, shifts and distances of sizes: symbols in graphs, as they vary."""
import torch


@torch.compile(dynamic=True, backend="aot_eager")
def bits(x):
    n, m = x.shape
    both, either, other = n & 6, 3 | n, n ^ m
    return x.new_ones(both + 1), x.new_ones(either), x.new_zeros(other, n >> 1), n << 1, (n & m) + 1


for shape in ((4, 6), (7, 3), (9, 5)):
    print([tuple(o.shape) if isinstance(o, torch.Tensor) else o for o in bits(torch.zeros(shape))])


@torch.compile(dynamic=True, backend="aot_eager")
def distance(x):
    n, m = x.shape
    return x.new_ones(abs(n - 9)), x.new_ones(abs(n - 2 * m) + 1), abs(-n), abs(n - m)


for shape in ((4, 6), (12, 3), (13, 5)):
    print([tuple(o.shape) if isinstance(o, torch.Tensor) else o for o in distance(torch.zeros(shape))])


@torch.compile(dynamic=True, backend="aot_eager")
def decides(x):
    if x.shape[0] & 1:
        return x * 2, x.shape[0] | x.shape[1]
    return x + 1, x.shape[1] >> 2


for shape in ((4, 6), (7, 3), (5, 8)):
    y, n = decides(torch.ones(shape))
    print(y.sum().item(), n)
