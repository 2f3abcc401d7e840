import torch

@torch.library.custom_op("mylib::scaled_sin", mutates_args=())
def scaled_sin(x: torch.Tensor, scale: float, times: int = 2) -> torch.Tensor:
    return (x.sin() * scale * times).clone()

@scaled_sin.register_fake
def _(x, scale, times=2):
    return torch.empty_like(x)

def setup_context(ctx, inputs, output):
    x, scale, times = inputs
    ctx.save_for_backward(x)
    ctx.scale = scale
    ctx.times = times

def backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad * x.cos() * ctx.scale * ctx.times, None, None

scaled_sin.register_autograd(backward, setup_context=setup_context)

torch.manual_seed(0)
x = torch.randn(3, 4, requires_grad=True)
y = scaled_sin(x, 0.5)
print(str(y.grad_fn).split(" ")[0])
y.sum().backward()
print(x.grad)
print(scaled_sin)
print(torch.ops.mylib.scaled_sin, torch.ops.mylib.scaled_sin.default)
print(torch.ops.mylib.scaled_sin.default._schema)
print(torch.ops.mylib.scaled_sin(x.detach(), 2.0, 3).sum())

lin = torch.nn.Linear(4, 4)

@torch.compile
def f(x):
    h = lin(x)
    h = torch.ops.mylib.scaled_sin(h, 0.5) + scaled_sin(h, 1.5, 3)
    return h.relu()

x.grad = None
out = f(x)
print(out)
out.sum().backward()
print(x.grad)
print(lin.weight.grad)
