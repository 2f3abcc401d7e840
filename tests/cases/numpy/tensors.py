# Between arrays and tensors: memory that both share, dtypes, operators with one of each.
import warnings

import numpy as np
import torch

warnings.simplefilter("ignore")
a = np.zeros(3)
x = torch.from_numpy(a)
x[0] = 5
a[1] = 7
print(a, x)
x.add_(1)
a += 1
print(a, x)
y = torch.arange(4.0)
b = y.numpy()
b[:] = 9
v = b[::2]
y[0] = 1
print(y, b, v)
z = torch.as_tensor(a)
z[2] = -1
copy = torch.tensor(a)
copy[0] = 100
print(a, copy, torch.as_tensor(a, dtype=torch.float32))
t = torch.zeros(3)
t[np.array([True, False, True])] = 2.0
t[np.int64(1)] = np.float64(3)
print(t, np.shares_memory(a, z.numpy()), torch.from_numpy(a.reshape(3, 1).T).stride())


def attempt(text):
    try:
        value = eval(text)
        print(text, "->", type(value).__name__, repr(value))
    except Exception as error:
        print(text, "!!", type(error).__name__)


for text in """torch.ones(2) * np.ones(2)
np.ones(2) * torch.ones(2)
torch.ones(2) + np.ones(2)
torch.ones(2) - np.ones(2)
torch.ones(2) @ np.ones(2)
torch.ones(2, requires_grad=True) * np.ones(2)
np.float32(2) * torch.ones(2)
torch.ones(2) * np.float32(2)
torch.ones(2) * np.float64(2)
np.float64(2) * torch.ones(2, dtype=torch.int64)
torch.ones(2) ** np.int64(2)
torch.ones(2) > np.float32(0)
torch.ones(3) == np.ones(3)
np.ones(3) == torch.ones(3)
np.sqrt(torch.ones(2))
np.maximum(torch.ones(2), 0)
np.add(1, torch.ones(2))
np.isnan(torch.ones(2))
np.exp(torch.zeros(2, dtype=torch.int64))
np.mean(torch.ones(2))
np.argmax(torch.ones(3))
np.where(torch.ones(2) > 0, 1, 2)
np.concatenate([torch.ones(2), np.ones(2)])
np.stack([torch.ones(2)])
np.linalg.norm(torch.ones(4))
np.allclose(torch.ones(2), np.ones(2))
np.array(torch.ones(2))
np.array([torch.tensor(1.0), torch.tensor(2.0)])
np.array([torch.ones(2), torch.ones(2)])
np.array(torch.tensor(3.0))
np.asarray(torch.ones(2), dtype=np.float64)
np.asarray(torch.ones(2, requires_grad=True))
torch.ones(2, requires_grad=True).numpy()
torch.ones(2, requires_grad=True).numpy(force=True)
torch.ones(2, dtype=torch.bfloat16).numpy()
torch.ones(3).mean().numpy()
torch.tensor(np.arange(6).reshape(2, 3))
torch.tensor(np.ones(2), dtype=torch.float32)
torch.tensor(np.array([True, False]))
torch.tensor(np.zeros((0, 3)))
torch.tensor([np.float64(1)])
torch.tensor([np.float32(1)])
torch.tensor([np.int32(1)])
torch.tensor([np.ones(2)])
torch.tensor([np.bool_(True)])
torch.tensor([1, np.float32(2)])
torch.tensor([[np.float64(1), 2], [3, 4]])
torch.tensor(np.float32(2))
torch.tensor(np.float64(2))
torch.tensor(np.int32(2))
torch.Tensor(np.ones(2))
torch.FloatTensor(np.ones(2))
torch.LongTensor(np.array([1, 2]))
torch.as_tensor([np.ones(2), np.zeros(2)])
torch.from_numpy([1])
torch.from_numpy(np.ones(2)[::-1])
torch.from_numpy(np.ones(2)[::-1].copy())
torch.add(torch.ones(2), np.ones(2))
torch.ones(3)[np.array([0, 1])]
torch.ones(2, 3)[np.int64(0), 1]
torch.zeros(np.int64(2))
torch.full((2,), np.float32(3))
torch.arange(np.int64(3))
torch.ones(2).reshape(np.int64(1), -1).shape
torch.ones(4).view(*np.array([2, 2])).shape
torch.nn.Linear(np.int64(2), 3).weight.shape
torch.clamp(torch.ones(2), max=np.float64(0.5))
torch.utils.data.default_collate([np.ones(2), np.zeros(2)])
torch.utils.data.default_collate([np.float32(1), np.float32(2)])
torch.utils.data.default_collate([np.int64(1), np.int64(2)])
torch.utils.data.default_collate([(np.ones(2, dtype=np.float32), 1), (np.zeros(2, dtype=np.float32), 0)])
torch.testing.assert_close(np.ones(2), np.ones(2))""".split("\n"):
    attempt(text)
