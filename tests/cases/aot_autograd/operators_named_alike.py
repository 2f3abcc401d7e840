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
x = torch.randn(3, 4, 5)
print(torch.vmap(my_sum)(x).shape, torch.equal(torch.vmap(my_sum)(x), x.sum(1) * 10))
with torch.autocast("cpu", dtype=torch.bfloat16):
    print(my_linear(x[0], torch.ones(5, 2)).dtype)
@torch.compile
def f(x):
    return my_view(torch.ones(3)) + my_view(x) + my_linear(x[None], torch.eye(3))[0]
print(f(torch.arange(3.)))
@torch.library.custom_op("mine::sgd_", mutates_args={"params"})
def sgd_(params: list[torch.Tensor], grads: list[torch.Tensor], lr: float) -> None:
    for p, g in zip(params, grads):
        p.sub_(g * lr)
@torch.compile
def step(a, b, g):
    with torch.no_grad():
        sgd_([a, b.t()], [g, g.t()], 0.5)
    return a + b.sum()
a, b, g = torch.ones(2, 3), torch.ones(2, 3).contiguous(), torch.full((2, 3), 0.5)
print(step(a, b.t().contiguous().t(), g), a)
