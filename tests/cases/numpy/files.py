# Arrays in files, which are in memory, and in bytes.
import io
import os
import tempfile

import numpy as np
import torch

rng = np.random.default_rng(5)
a, b = rng.normal(size=(2, 3)), rng.integers(0, 100, 4).astype(np.int16)
buffer = io.BytesIO()
np.save(buffer, a)
print(len(buffer.getvalue()), buffer.getvalue()[:10])
buffer.seek(0)
print((np.load(buffer) == a).all())
for array in (a, b, a.T, a[:, ::-1], np.array(3.5), np.zeros((0, 2)), a > 0, a + 1j, np.arange(3, dtype=np.uint32)):
    buffer = io.BytesIO()
    np.save(buffer, array)
    buffer.seek(0)
    back = np.load(buffer)
    print(back.dtype, back.shape, np.array_equal(back, array))
buffer = io.BytesIO()
np.savez(buffer, a, labels=b)
buffer.seek(0)
with np.load(buffer) as data:
    print(sorted(data.files), data["labels"], data["arr_0"].shape, "labels" in data)
print(np.frombuffer(b.tobytes(), dtype=np.int16), np.frombuffer(b"\x00\x00\x80?", dtype=np.float32), b.tobytes())
state = {"weight": torch.ones(2, 2), "bias": torch.zeros(2)}
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model")
    np.savez(path, **{name: t.numpy() for name, t in state.items()})
    loaded = {name: torch.from_numpy(array) for name, array in np.load(path + ".npz").items()}
print(all(torch.equal(state[name], loaded[name]) for name in state))
