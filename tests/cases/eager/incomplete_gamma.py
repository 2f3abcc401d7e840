# The regularized incomplete gamma functions where arguments are tiny, huge, or no numbers.
import torch

inf, nan = float("inf"), float("nan")
torch.set_printoptions(precision=4, linewidth=160)
values = [0.0, -0.0, 1.0, -1.0, 0.5, inf, -inf, nan, 1e-30, 1e30, 170.0, 1e10]
for dtype in (torch.float64, torch.float32):
    a = torch.tensor([v for v in values if v != 1e-30 or dtype == torch.float64], dtype=dtype)
    for function in (torch.special.gammainc, torch.special.gammaincc):
        for row in a:
            print(function.__name__, row.item(), function(row, a))
a = torch.tensor([1e-8, 1e-3, 0.1, 0.4, 0.7, 1.0, 1.2, 5.0, 25.0, 190.0, 500.0], dtype=torch.float64)
for x in (1e-10, 0.01, 0.3, 0.5, 0.9, 1.05, 1.2, 4.0, 30.0, 180.0, 520.0):
    print(x, torch.special.gammainc(a, torch.tensor(x, dtype=torch.float64)))
    print(x, torch.special.gammaincc(a, torch.tensor(x, dtype=torch.float64)))
large = torch.tensor([3e5, 1e7], dtype=torch.float64)
for sigmas in (-3.0, -1.0, 0.0, 1.0, 2.5):
    x = large + sigmas * large.sqrt()
    print(sigmas, torch.special.gammainc(large, x), torch.special.gammaincc(large, x))
largest = torch.tensor([3.4e38])
print(torch.special.gammaincc(largest, torch.tensor([0.5, 1.0, 170.0, 1e10, 1e30, 3.4e38])))
x = torch.arange(4.0).view(2, 2)
for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
    print(dtype, x.repeat_interleave(torch.tensor([0, 2], dtype=dtype), 0))
