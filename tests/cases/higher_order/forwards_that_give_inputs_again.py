# A custom function's forward that casts what needs no cast: the inputs are the caller's after the call, also compiled.
import torch
from torch.amp import custom_bwd, custom_fwd


class Product(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad @ w.t(), x.t() @ grad


class Again(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        x, w = x.to(torch.float32).contiguous(), w.reshape(w.shape)
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad * w.to(torch.float32), grad * x


def mixed(x, w):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return Product.apply(x, w), x @ w


def twice(x, w):
    return Again.apply(x, w) + Again.apply(w, x) * w, x.sum()


for function in (mixed, twice):
    for backend in (None, "aot_eager", "eager"):
        torch._dynamo.reset()
        x, w = torch.eye(2, requires_grad=True), torch.full((2, 2), 0.5, requires_grad=True)
        compiled = function if backend is None else torch.compile(function, backend=backend)
        a, b = compiled(x, w)
        (a.sum() + b.float().sum()).backward()
        print(a.dtype, b.dtype, a, x.grad, w.grad)
