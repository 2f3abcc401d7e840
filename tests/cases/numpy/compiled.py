# numpy in compiled functions beside tensors: what modules, globals and arguments hold, loops, random numbers.
import numpy as np
import torch


@torch.compile(backend="aot_eager")
def statistics(x):
    y = x * 2
    n = y.detach().numpy()
    m = np.sin(n) + n.mean()
    return torch.from_numpy(m) + x


for k in range(3):
    x = torch.arange(4.0) + k
    print(statistics(x), torch.allclose(statistics(x), torch.sin(2 * x) + 2 * x.mean() + x))


@torch.compile(backend="aot_eager")
def augmented(x):
    shift = np.random.randint(0, 3)
    weights = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    return x * torch.tensor(weights) + float(weights.sum()) + shift


np.random.seed(0)
for _ in range(3):
    print(augmented(torch.ones(3)))


@torch.compile(backend="aot_eager")
def scaled(x, array):
    return x * torch.from_numpy(array).sum() + array.shape[0]


print(scaled(torch.ones(2), np.ones(3)), scaled(torch.ones(2), np.ones(3) * 2), scaled(torch.ones(2), np.ones(4)))


@torch.compile(backend="aot_eager")
def times(x, s):
    return x * s


print(times(torch.ones(2), np.float32(3)), times(torch.ones(2), np.float32(4)), times(torch.ones(2), np.float64(5)), times(torch.ones(2), np.int64(6)))
table = np.array([1.0, 2.0], dtype=np.float32)


@torch.compile(backend="aot_eager")
def looked_up(x):
    return x + torch.from_numpy(table)


print(looked_up(torch.ones(2)))
table[0] = 10
print(looked_up(torch.ones(2)))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
        self.mean = np.arange(3.0, dtype=np.float32)

    def forward(self, x):
        centered = x - torch.from_numpy(self.mean)
        out = self.layer(centered)
        rate = (out.detach().numpy() > 0).mean()
        return out.sum(), float(rate)


torch.manual_seed(0)
model = torch.compile(Model(), backend="aot_eager")
loss, rate = model(torch.ones(4, 3))
loss.backward()
print(loss, rate, model.layer.weight.grad)


@torch.compile(backend="aot_eager")
def only_arrays(a):
    return np.where(a > 1, np.sqrt(a), -a).sum()


print(round(float(only_arrays(np.arange(4.0))), 4), round(float(only_arrays(np.arange(5.0))), 4))


@torch.compile(backend="aot_eager")
def looped(x):
    total = np.zeros(2)
    for i in range(3):
        x = x + i
        total += x.detach().numpy()
    return x * 2, torch.from_numpy(total)


print(looped(torch.ones(2)))


@torch.compile(backend="aot_eager")
def picked(x, keep):
    return x[torch.from_numpy(keep).logical_not()] * 2, x[np.array([0, 1])] + 1, x.clamp(max=np.float64(1.5))


print(picked(torch.arange(3.0), np.array([True, False, True])))
