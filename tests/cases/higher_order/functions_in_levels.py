# Custom functions whose rules for batches are made of their forward and backward, in levels of vmap within levels of grad, also compiled.
import torch
from torch.func import grad, jacrev, vjp, vmap


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3, x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[1])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        x, square = ctx.saved_tensors
        return 3 * square * grad


class Scale(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, w):
        return x * w

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad * w, (grad * x).sum()


x = torch.tensor([1.0, 2.0])
w = torch.tensor(3.0)
programs = {
    "grad of vmap": lambda x: grad(lambda v: vmap(lambda u: Cube.apply(u)[0])(v).sum())(x),
    "vjp of vmap": lambda x: vjp(lambda v: vmap(lambda u: Cube.apply(u)[0] * 2)(v), x)[1](torch.ones(2)),
    "grad of grad": lambda x: grad(lambda v: grad(lambda u: Cube.apply(u)[0].sum())(v).sum())(x),
    "jacrev": lambda x: jacrev(lambda v: Cube.apply(v)[0])(x),
    "vmap of vmap": lambda x: vmap(vmap(lambda v: Cube.apply(v)[0]))(x.reshape(1, 2)),
}
print(grad(lambda v, w: vmap(Scale.apply, in_dims=(0, None))(v, w).sum(), argnums=(0, 1))(x, w))
for name, program in programs.items():
    for backend in (None, "aot_eager", "eager"):
        torch._dynamo.reset()
        compiled = program if backend is None else torch.compile(program, backend=backend)
        print(name, backend, compiled(x))
