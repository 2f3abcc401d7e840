"""What `torch.save` writes and `torch.load` reads: views of one memory, parameters, dtypes, bits, sizes, whole modules."""
import io
import pickle

import torch


def again(obj, **options):
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, **options)


base = torch.arange(6.0)
a, b = again([base.view(2, 3), base[2:4]])
print(a, b, a.stride(), b.storage_offset(), a.data_ptr() + 8 == b.data_ptr())
a[0, 2] = 100
print(b)
values = {
    "half": torch.ones(2, dtype=torch.float16), "brain": torch.ones(2, dtype=torch.bfloat16), "truth": torch.tensor([True, False]),
    "long": torch.tensor([2**60, -1]), "complex": torch.tensor([1 + 2j]).conj(), "empty": torch.empty(0, 3), "scalar": torch.tensor(3.5),
    "meta": torch.empty(2, 3, device="meta"), "eight": torch.tensor([1.0, 2.0]).to(torch.float8_e4m3fn),
    "transposed": torch.arange(6).view(2, 3).t(), "dtype": torch.float64, "size": torch.Size([1, 2]), "device": torch.device("cpu"),
    "number": 1 + 2j, "set": {1, 2}, "none": None, "bytes": b"abc", "big": 2**100, "text": "é",
}
for name, value in again(values).items():
    print(name, value, getattr(value, "dtype", type(value).__name__))
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
state = again(net.state_dict())
print(type(state).__name__, list(state), all(torch.equal(state[k], v) for k, v in net.state_dict().items()))
whole = again(net, weights_only=False)
print(whole, type(whole[0].weight).__name__, whole[0].weight.requires_grad, torch.equal(whole[0].weight, net[0].weight))
p = again(torch.nn.Parameter(torch.ones(2), requires_grad=False))
print(p, type(p).__name__)
t = torch.ones(2)
t.tag = "mine"
print(again(t).tag)
tied = [net[0].weight, net[0].weight]
one, two = again(tied)
print(one is two)
print(torch.equal(pickle.loads(pickle.dumps(base)), base))
file = io.BytesIO()
torch.save({"a": 1}, file)
for attempt in (lambda: torch.load(file), lambda: torch.load(io.BytesIO(file.getvalue()[:300])), lambda: again(net)):
    try:
        attempt()
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[:1])
