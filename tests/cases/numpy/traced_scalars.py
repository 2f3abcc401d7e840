# numpy's scalars are inputs of graphs, tensors without axes; a graph that has read one as a number is guarded on it.
import math

import numpy as np
import torch
from torch._dynamo.testing import CompileCounter

x = torch.ones(3)


def counted(function, *values):
    torch._dynamo.reset()
    counter = CompileCounter()
    compiled = torch.compile(function, backend=counter)
    print(function.__name__, [str(compiled(x, value)) for value in values])
    return counter.frame_count


def added(x, s):
    return x + s


print(counted(added, np.float64(1), np.float64(2), np.float32(2), np.int32(5), 7, 2.5))


def root(x, s):
    return x * math.sqrt(s)


counted(root, np.float64(4), np.float64(9), np.float64(4))


def times(x, n):
    return x * int(n)


counted(times, np.int64(3), np.int64(4), np.int64(3))


def viewed(x, n):
    return x.view(n, -1)


counted(viewed, np.int64(3), np.int64(1), np.int64(3))


def listed(x, n):
    return x + [1, 2, 3][n]


counted(listed, np.int64(0), np.int64(2))


def written(x, s):
    return x + len(f"{s}")


counted(written, np.float64(1), np.float64(2.25))


def read(x, s):
    return x + float(s) + s.item()


counted(read, np.float32(1), np.float32(2.25), np.float32(1))


def limited(x, s):
    return torch.clamp(x, max=s) + torch.full((3,), s)


counted(limited, np.float32(0.1), np.float32(0.25))


def true(x, s):
    return x + 1 if s else x - 1


counted(true, np.bool_(True), np.bool_(False))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = np.sqrt(64)
        self.mean = np.array([0.5, 0.25, 0.125])

    def forward(self, x):
        return x / self.scale - torch.as_tensor(self.mean)


print(torch.compile(Model())(x))


@torch.compile
def both(s, t):
    return s * 2, s, t * s


print(both(np.float64(1.5), x))
w = torch.ones(3, requires_grad=True)
torch.compile(lambda x, s: (x * torch.from_numpy(s)).sum())(w, np.array(2.0)).backward()
print(w.grad)
