"""Custom functions in the transforms of `torch.func`: their own derivatives and batching rules are what counts."""

import torch
from torch.autograd import Function
from torch.func import grad, hessian, jacrev, vjp, vmap


class Doubled(Function):
    """A sine whose derivative is twice the cosine, so that it shows whose derivative is taken."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * grad_output * x.cos()


class Scaled(Function):
    """Two results, an argument that is no tensor, a saved result."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, w, power):
        y = (x * w).exp()
        return y, x.sum() * power

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, w, ctx.power = inputs
        ctx.save_for_backward(x, w, output[0])

    @staticmethod
    def backward(ctx, gy, gs):
        x, w, y = ctx.saved_tensors
        return gy * y * w + gs * ctx.power, (gy * y * x), None


class Own(Function):
    """A rule for batches of its own."""

    @staticmethod
    def forward(x):
        return x * 3

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 30

    @staticmethod
    def vmap(info, in_dims, x):
        print("rule", info.batch_size, info.randomness, in_dims, tuple(x.shape))
        return Own.apply(x), in_dims[0]


class Old(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


class Unbatched(Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


def attempt(name, call):
    try:
        print(name, call())
    except Exception as error:  # noqa: BLE001
        print(name, type(error).__name__, str(error).splitlines()[0])


x = torch.arange(3.0)
w = torch.linspace(0.5, 1.5, 3)
batch = torch.arange(6.0).view(2, 3) / 3
attempt("grad", lambda: grad(lambda x: Doubled.apply(x).sum())(x))
attempt("grad of grad", lambda: grad(lambda x: grad(lambda x: Doubled.apply(x).sum())(x).sum())(x))
attempt("vmap", lambda: vmap(Doubled.apply)(x))
attempt("vmap of grad", lambda: vmap(grad(Doubled.apply))(x))
attempt("grad of vmap", lambda: grad(lambda b: vmap(Doubled.apply)(b).sum())(batch))
attempt("jacrev", lambda: jacrev(Doubled.apply)(x))
attempt("hessian", lambda: jacrev(jacrev(lambda x: (Doubled.apply(x) ** 2).sum()))(x))
attempt("vjp", lambda: vjp(Doubled.apply, x)[1](torch.ones(3)))
attempt("results", lambda: vmap(Scaled.apply, in_dims=(0, None, None))(batch, w, 2.0))
attempt("in_dims", lambda: vmap(Scaled.apply, in_dims=(1, None, None))(batch.t(), w, 2.0)[0])
attempt(
    "both gradients",
    lambda: grad(lambda b, w: sum(one.sum() for one in vmap(Scaled.apply, in_dims=(0, None, None))(b, w, 2.0)), argnums=(0, 1))(batch, w),
)
attempt("per item", lambda: vmap(grad(lambda x, w: Scaled.apply(x, w, 2.0)[0].sum(), argnums=(0, 1)), in_dims=(0, None))(batch, w))
attempt("saved result", lambda: grad(lambda x: grad(lambda x: Scaled.apply(x, w, 1.0)[0].sum())(x).sum())(x))
attempt("own rule", lambda: vmap(Own.apply)(batch))
attempt("own rule, grad", lambda: grad(lambda b: vmap(Own.apply, in_dims=1)(b).sum())(batch))
attempt("vmap in vmap", lambda: vmap(vmap(Doubled.apply))(batch))
attempt("old", lambda: grad(lambda x: Old.apply(x).sum())(x))
attempt("no rule", lambda: vmap(Unbatched.apply)(x))
attempt("no rule needed", lambda: vmap(lambda a: a + Unbatched.apply(w))(batch))
leaf = x.clone().requires_grad_()
vmap(Doubled.apply)(leaf).sum().backward()
print("tape below", leaf.grad)
