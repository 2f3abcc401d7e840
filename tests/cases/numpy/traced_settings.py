# What numbers are in a graph where nothing else says so, and whose random numbers it draws.
import numpy as np
import torch

config = torch._dynamo.config
config.numpy_default_float, config.numpy_default_int, config.numpy_default_complex = "float32", "int32", "complex64"


@torch.compile
def made(i):
    return np.zeros(1), np.mean(i), np.arange(2), np.asarray(1j), i * 1j, np.sqrt(i), np.sum(i > 0, dtype=bool)


print([value.dtype for value in made(np.arange(2))])


def drawn(x):
    np.random.seed(3)
    return x + np.random.rand(2) + np.random.uniform(size=2)


with config.patch(use_numpy_random_stream=True):
    print(torch.compile(drawn)(np.zeros(2)))
torch._dynamo.reset()
print(torch.compile(drawn)(np.zeros(2)).shape)
torch._dynamo.reset()
with config.patch(trace_numpy=False):
    print(torch.compile(lambda x: x + np.sum(x))(np.ones(2)))
