"""Arguments that are easily overlooked: devices, layouts, results to write into, how numbers are drawn."""

import io
import warnings

import torch

warnings.simplefilter("ignore")
out = torch.empty(0)
print(torch.range(1, 4, out=out), out, torch.range(0, 1, 0.5, device="cpu"))
x = torch.ones(2)
print(x.new_tensor([1, 2], device="cpu"))
A = torch.tensor([[2.0, 1.0], [4.0, 3.0]])
results = torch.empty(0), torch.empty(0, dtype=torch.int32)
torch.lu(A, out=results)
print([r.tolist() for r in results])
made = torch.testing.make_tensor(3, 4, dtype=torch.float32, device="cpu", noncontiguous=True)
print(made.is_contiguous(), made.shape)
print((torch.testing.make_tensor(100, dtype=torch.int64, device="cpu", low=0, high=2, exclude_zero=True) == 1).all())
buffer = io.BytesIO()
torch.save({"x": x}, buffer)
for place in ("cpu", torch.device("cpu"), {"cpu": "cpu"}, lambda storage, location: storage):
    buffer.seek(0)
    print(torch.load(buffer, map_location=place))
f = torch._dynamo.optimize("eager", nopython=True, disable=False)(lambda x: x + 1)
print(f(x), torch._dynamo.optimize(disable=True)(abs)(-3))
