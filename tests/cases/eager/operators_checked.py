import torch
@torch.library.custom_op("mine::sum", mutates_args=())
def my_sum(x: torch.Tensor, dim: int = 0) -> torch.Tensor:
    return x.sum(dim) * 10
@my_sum.register_fake
def _(x, dim=0):
    shape = list(x.shape)
    del shape[dim]
    return x.new_empty(shape)
def setup(ctx, inputs, output):
    x, dim = inputs
    ctx.dim, ctx.n = dim, x.shape[dim]
def back(ctx, g):
    return (g * 10).unsqueeze(ctx.dim).repeat_interleave(ctx.n, ctx.dim), None
my_sum.register_autograd(back, setup_context=setup)
@torch.library.custom_op("mine::view", mutates_args=())
def my_view(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + 1
@my_view.register_fake
def _(x):
    return torch.empty_like(x)
@torch.library.custom_op("mine::linear", mutates_args=())
def my_linear(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w
@my_linear.register_fake
def _(x, w):
    return x.new_empty(x.shape[0], w.shape[1])
torch.manual_seed(0)
print(torch.library.opcheck(my_sum, (torch.randn(3, 4, requires_grad=True),)))
print(torch.library.opcheck(my_linear, (torch.randn(3, 4), torch.randn(4, 2))))
@torch.library.custom_op("mine::lies", mutates_args=())
def lies(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x.clone()
@lies.register_fake
def _(x):
    return x.new_empty(2)
for r in torch.library.opcheck(lies, (torch.randn(3),), raise_exception=False).values():
    print(r if r == "SUCCESS" else type(r).__name__)
