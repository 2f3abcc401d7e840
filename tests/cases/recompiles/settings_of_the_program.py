import torch

@torch.compile
def f(x):
    return x.sum() + torch.zeros(1)

x = torch.ones(3)
f(x)
torch.set_default_dtype(torch.float64)
print(f(x).dtype)
torch.set_default_dtype(torch.float32)
torch.use_deterministic_algorithms(True)
f(x)
torch.use_deterministic_algorithms(False)
n = torch.get_num_threads()
torch.set_num_threads(n + 1)
f(x)
torch.set_num_threads(n)
print(f(x).dtype)
