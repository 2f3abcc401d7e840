# Rules for batches of a script's own operators: custom_op's, a library's, of lists, in two levels, below grad; and those of Functions.
import torch
from torch.library import Library, custom_op, register_vmap


@custom_op("rules::scale", mutates_args=())
def scale(x: torch.Tensor, k: float = 2.0) -> torch.Tensor:
    return x * k


seen = []


@scale.register_vmap
def _(info, in_dims, x, k=2.0):
    seen.append((info, in_dims, tuple(x.shape)))
    return scale(x, k) + 0, in_dims[0]


x = torch.arange(6.0).reshape(2, 3)
print(torch.vmap(scale)(x))
print(torch.vmap(scale, in_dims=(1, None))(x, 3.0))
print(torch.vmap(torch.vmap(scale))(x))
print(torch.vmap(lambda a: scale(torch.ones(2)) + a)(x[:, :2]))
print(torch.vmap(lambda a: scale(a + torch.rand(3)).shape[0] * a, randomness="different")(x))
print(seen)


@custom_op("rules::pair", mutates_args=())
def pair(xs: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    return xs[0] + xs[1], xs[0] - xs[1]


def rule(info, in_dims, xs):
    print(info, in_dims)
    a, b = (v if d is not None else v.expand(info.batch_size, *v.shape) for v, d in zip(xs, in_dims[0]))
    return pair([a, b]), (0, 0)


register_vmap("rules::pair", rule)
print(torch.vmap(lambda a: pair([a, torch.ones(3)]))(x))
register_vmap(pair, lambda info, in_dims, xs: pair(xs)[0])
try:
    print(torch.vmap(lambda a: pair([a, a]))(x))
except RuntimeError as error:
    print(error)

lib = Library("rules_of_a_library", "DEF")
lib.define("sine(Tensor x) -> Tensor")
lib.impl("sine", torch.sin, "CPU")
sine = torch.ops.rules_of_a_library.sine


@register_vmap("rules_of_a_library::sine")
def _(info, in_dims, x):
    return sine(x), in_dims[0]


print(torch.vmap(sine)(x), torch.vmap(sine, in_dims=1, out_dims=1)(x))


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return 3 * ctx.saved_tensors[0] ** 2 * grad

    @staticmethod
    def vmap(info, in_dims, x):
        print(info, in_dims)
        return Cube.apply(x) if info.batch_size == 3 else (Cube.apply(x), in_dims[0])


print(torch.vmap(Cube.apply)(x))
try:
    torch.vmap(Cube.apply)(x.T)
except RuntimeError as error:
    print(error)
