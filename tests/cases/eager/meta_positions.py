# Positions with values beside elements without any, and tensors that are laid out as if they were joined.
import torch
import torch.nn.functional as F

x = torch.empty(3, 4, device="meta")
at = torch.tensor([[0, 1], [2, 3], [1, 0]])
for run in (
    lambda: x[[0, 2]],
    lambda: x[torch.tensor([0, 1]), torch.tensor([1, 0])],
    lambda: x.index_select(1, torch.tensor([0, 3])),
    lambda: x.gather(1, at),
    lambda: x.take(torch.tensor([0, 5])),
    lambda: x.scatter_add(1, at, x[:, :2]),
    lambda: x.index_put((torch.tensor([0]),), x[:1]),
    lambda: x.masked_scatter(torch.tensor([True, False, True, False]), x),
    lambda: F.embedding(torch.tensor([0, 2]), x),
    lambda: x + torch.ones(4),
):
    try:
        out = run()
        print(out.device, out.dtype, tuple(out.shape))
    except RuntimeError as error:
        print(str(error).split("\n")[0])

y = torch.arange(40).reshape(2, 5, 2, 2).to(memory_format=torch.channels_last)
for rolled in (torch.roll(y, 1, 0), torch.roll(y, (1, 1), (0, 1)), torch.roll(y, 1), torch.roll(y[:, :0], 1, 0)):
    print(rolled.stride(), rolled.flatten()[:4])
for size in ((0, 1), (0, 2), (0, 1, 2), (2, 0, 1)):
    empty, w = torch.empty(size), torch.ones(size[-1:])
    print((empty * w).stride(), torch.rms_norm(empty, size[-1:], w).stride(), empty.exp().stride())
for name in ("leaky_relu_", "elu_"):
    z = torch.tensor([-1.0, 2.0], requires_grad=True)
    try:
        getattr(F, name)(z.sin(), -0.5).sum().backward()
    except RuntimeError as error:
        print(error)
torch.manual_seed(0)
z = torch.tensor([-1.0, 2.0], requires_grad=True)
F.rrelu(z * 1, 0.1, 0.3, training=True, inplace=True).sum().backward()
print(z.grad)
