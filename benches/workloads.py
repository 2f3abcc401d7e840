"""A step of one of four models, compiled and run once; a line before this one says which: `WORKLOAD = "MLP"`.

`benches/gpu.rs` and `scripts/bench.mjs` time the graphs that it makes. MLP: three layers of an image classifier. PW: a million
elements of pointwise arithmetic and their sum. CNN: two convolutions with pooling and a layer. ATT: a transformer block of width 128.
"""

import torch
import torch.nn.functional as F

torch.manual_seed(0)


def parameter(*sizes, scale=0.1):
    return (torch.randn(*sizes) * scale).requires_grad_()


def mlp(w1, b1, w2, b2, w3, b3, images, classes):
    hidden = F.relu(torch.addmm(b1, images, w1))
    hidden = F.relu(torch.addmm(b2, hidden, w2))
    return F.cross_entropy(torch.addmm(b3, hidden, w3), classes)


def pointwise(x, w, b):
    return (F.gelu(x * w + b, approximate="tanh") * torch.sigmoid(x)).sum()


def cnn(k1, c1, k2, c2, w, b, images, classes):
    hidden = F.max_pool2d(F.relu(F.conv2d(images, k1, c1, padding=1)), 2)
    hidden = F.max_pool2d(F.relu(F.conv2d(hidden, k2, c2, padding=1)), 2)
    return F.cross_entropy(torch.addmm(b, hidden.flatten(1), w), classes)


def block(g1, h1, w_qkv, b_qkv, w_out, b_out, g2, h2, w_up, b_up, w_down, b_down, x):
    batch, length, width = x.shape
    heads = 4
    q, k, v = (F.layer_norm(x, (width,), g1, h1) @ w_qkv + b_qkv).view(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
    attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + attended.transpose(1, 2).reshape(batch, length, width) @ w_out + b_out
    x = x + F.gelu(F.layer_norm(x, (width,), g2, h2) @ w_up + b_up, approximate="tanh") @ w_down + b_down
    return (x * x).mean()


if WORKLOAD == "MLP":
    sizes = [(784, 256), (256,), (256, 128), (128,), (128, 10), (10,)]
    step, inputs = mlp, [parameter(*s) for s in sizes] + [torch.randn(64, 784), torch.randint(0, 10, (64,))]
elif WORKLOAD == "PW":
    step, inputs = pointwise, [parameter(1_000_000, scale=1.0) for _ in range(3)]
elif WORKLOAD == "CNN":
    sizes = [(8, 1, 3, 3), (8,), (16, 8, 3, 3), (16,), (784, 10), (10,)]
    step, inputs = cnn, [parameter(*s) for s in sizes] + [torch.randn(16, 1, 28, 28), torch.randint(0, 10, (16,))]
elif WORKLOAD == "ATT":
    sizes = [(128,), (128,), (128, 384), (384,), (128, 128), (128,), (128,), (128,), (128, 512), (512,), (512, 128), (128,)]
    step, inputs = block, [parameter(*s) for s in sizes] + [parameter(4, 64, 128, scale=1.0)]
else:
    raise ValueError(f"no workload is called {WORKLOAD}")

loss = torch.compile(step, backend="aot_eager")(*inputs)
loss.backward()
print(f"{WORKLOAD}: loss {loss.item():.6f}")
