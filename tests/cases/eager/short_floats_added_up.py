import torch
import torch.nn.functional as F

# Repeated places: rounded after each sum, or added up in single precision.
index, values = torch.tensor([1, 1, 1, 0, 1]), torch.tensor([256.0, 1.0, 1.0, 5.0, 1.0])
for dtype in [torch.bfloat16, torch.float16]:
    v, rows, zeros = values.to(dtype), values.to(dtype)[:, None].expand(5, 2), torch.zeros(2, dtype=dtype)
    places = {
        "embedding": lambda a: F.embedding(index, a),
        "index": lambda a: a[index],
        "index_select": lambda a: a.index_select(0, index),
        "embedding_bag": lambda a: F.embedding_bag(index, a, torch.arange(5), mode="sum"),
    }
    for name, f in places.items():
        a = torch.zeros(2, 2, dtype=dtype, requires_grad=True)
        f(a).backward(rows)
        print(dtype, name, a.grad.tolist())
    for name in ["gather", "take", "index_select", "take_along_dim"]:
        a = torch.zeros(2, dtype=dtype, requires_grad=True)
        (a.take(index) if name == "take" else torch.take_along_dim(a, index, 0) if "along" in name else getattr(a, name)(0, index)).backward(v)
        print(dtype, name, a.grad.tolist())
    print(zeros.index_add(0, index, v), zeros.scatter_add(0, index, v), zeros.scatter_reduce(0, index, v, "sum"))
    print(zeros.index_put((index,), v, accumulate=True), zeros.put(index, v, accumulate=True), zeros[:, None].index_add(0, index, v[:, None]))
    print(zeros.index_reduce(0, index, v, "mean"), zeros.scatter_reduce(0, index, v, "mean"), zeros.index_reduce(0, index, v, "prod"))

# A root is rounded first where elements are left over after groups of 32.
x = torch.linspace(0.1, 3, 70)
for dtype in [torch.bfloat16, torch.float16]:
    for n in [5, 40, 70]:
        print(x[:n].to(dtype).rsqrt().double().sum().item(), (x[:n].to(dtype) ** -0.5).double().sum().item())
    a = torch.tensor([0.265625, 0.375, 0.421875, 1.3, 2.7], dtype=dtype, requires_grad=True)
    g = torch.tensor([1.0, 0.33, 1.7, -0.6, 0.011], dtype=dtype)
    for f in [torch.rsqrt, torch.asinh, lambda a: a**3, lambda a: a**-2, lambda a: F.mse_loss(a, a.detach().flip(0), reduction="none")]:
        a.grad = None
        y = f(a)
        y.backward(g)
        print(y.tolist(), a.grad.tolist())
    a.grad = None
    loss = F.mse_loss(a, a.detach().flip(0))
    loss.backward()
    print(loss, a.grad.tolist())
