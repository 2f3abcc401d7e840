"""Results and gradients of kernels that many programs call: norms, attention, softmax."""

import torch
import torch.nn.functional as F


def show(name, *tensors):
    for tensor in tensors:
        if tensor is not None:
            print(name, tuple(tensor.shape), " ".join(f"{v:.5f}" for v in tensor.detach().flatten().tolist()))


def both(name, f, *inputs):
    inputs = [t.clone().requires_grad_() for t in inputs]
    result = f(*inputs)
    show(name, result, *torch.autograd.grad(result, inputs, torch.randn(result.shape)))


torch.manual_seed(0)
show("sqrt", torch.sqrt(torch.rand(64) * 10), torch.sqrt(torch.tensor([0.0, 1.0, 4.0, 2.0, 1e-30, 1e30, float("inf")])))
for shape in [(3, 5), (2, 8), (2, 37)]:
    n = shape[-1]
    both(f"layer_norm {n}", lambda x, w, b: F.layer_norm(x, (n,), w, b), torch.randn(shape), torch.randn(n), torch.randn(n))
    both(f"layer_norm {n} alone", lambda x: F.layer_norm(x, (n,)), torch.randn(shape))
for shape in [(6, 10), (2, 3, 3, 4), (2, 4, 9)]:
    c = shape[1]
    mean, var = torch.randn(c), torch.rand(c) + 0.5
    parameters = torch.randn(c), torch.randn(c)
    both(f"batch_norm {shape}", lambda x, w, b: F.batch_norm(x, mean, var, w, b, True), torch.randn(shape), *parameters)
    show("statistics", mean, var)
    both(f"batch_norm {shape} evaluated", lambda x, w, b: F.batch_norm(x, mean, var, w, b, False), torch.randn(shape), *parameters)
for shape in [(2, 4, 9), (2, 6, 3, 3), (1, 24, 10)]:
    c = shape[1]
    both(f"group_norm {shape}", lambda x, w, b: F.group_norm(x, 2, w, b), torch.randn(shape), torch.randn(c), torch.randn(c))
for length, width in [(5, 4), (8, 8)]:
    q, k, v = (torch.randn(1, 2, length, width) for _ in range(3))
    both(f"attention {length} {width}", F.scaled_dot_product_attention, q, k, v)
    both(f"causal attention {length} {width}", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), q, k, v)
for shape, dim in [((6, 5), 0), ((4, 20), 1), ((3, 4, 17), 1)]:
    both(f"softmax {shape} {dim}", lambda x: F.softmax(x, dim), torch.randn(shape))
x = torch.randn(64)
both("silu", F.silu, x)
both("leaky_relu", F.leaky_relu, x)
for values in [[1, 0, 2, 2, 0, 1, 3], [2, 2, 2, 1, 1, 1, 0, 0, 3, 3, 3]]:
    print([torch.kthvalue(torch.tensor(values), k) for k in range(1, len(values) + 1)])
