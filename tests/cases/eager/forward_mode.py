"""Forward-mode derivatives: dual tensors, products with Jacobians, and what is refused; functions put together of others."""

import torch
import torch.autograd.forward_ad as forward_ad
from torch import nn
from torch.func import functional_call, hessian, jacfwd, jacrev, jvp, linearize


def attempt(name, call):
    try:
        print(name, call())
    except Exception as error:  # noqa: BLE001
        print(name, type(error).__name__, str(error).splitlines()[0])


x, v = torch.linspace(0.5, 2.0, 4), torch.arange(4.0)
with forward_ad.dual_level():
    dual = forward_ad.make_dual(x, v)
    for function in (torch.sin, lambda x: x * x + x, lambda x: x.view(2, 2) @ x.view(2, 2).t(), lambda x: x.softmax(0).log().sum()):
        out = function(dual)
        primal, tangent = forward_ad.unpack_dual(out)
        print(primal, tangent)
    print(forward_ad.unpack_dual(x * 2).tangent, forward_ad.unpack_dual(torch.ones(2)).tangent)
    print(forward_ad.unpack_dual(dual.clone().mul_(2)[1:]).tangent)
    attempt("shapes", lambda: forward_ad.make_dual(x, v[:2]))
    attempt("integers", lambda: forward_ad.make_dual(torch.arange(4), v))
    attempt("nested", lambda: forward_ad.enter_dual_level())
attempt("outside", lambda: forward_ad.make_dual(x, v))
print(forward_ad.unpack_dual(dual).tangent)



class Tripled(torch.autograd.Function):
    """A sine whose tangent is three times what it should be, so that it shows whose derivative is taken."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_forward(x)
        ctx.factor = factor
        return x.sin() * factor

    @staticmethod
    def jvp(ctx, tangent, _):
        return 3 * tangent * ctx.saved_tensors[0].cos() * ctx.factor


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


with forward_ad.dual_level():
    dual = forward_ad.make_dual(x, v)
    print(forward_ad.unpack_dual(Tripled.apply(dual, 2.0) * 2), Tripled.apply(x, 1.0))
    attempt("no rule", lambda: Backward.apply(dual))
torch.manual_seed(0)
layer = nn.Linear(4, 2)
parameters = {name: p.detach() for name, p in layer.named_parameters()}
tangents = {name: torch.ones_like(p) for name, p in parameters.items()}
with forward_ad.dual_level():
    duals = {name: forward_ad.make_dual(p, tangents[name]) for name, p in parameters.items()}
    print(forward_ad.unpack_dual(functional_call(layer, duals, x)).tangent)
print(jvp(lambda p: functional_call(layer, p, x), (dict(parameters),), (tangents,))[1])
print(jacfwd(torch.sin)(x), jacfwd(lambda x: x.view(2, 2).sum(0))(x))
print(hessian(lambda x: (x**3).sum())(x), torch.allclose(jacfwd(torch.tanh)(x), jacrev(torch.tanh)(x)))
print(linearize(lambda x: (x * x).cos(), x)[1](v))

y = torch.tensor([1.0, 2.0, 4.0, 7.0, 11.0])
print(torch.gradient(y), torch.gradient(y, spacing=0.5, edge_order=2))
print(torch.gradient(y, spacing=(torch.tensor([0.0, 1.0, 3.0, 4.0, 8.0]),), edge_order=2))
print(torch.gradient(torch.arange(12).view(3, 4) ** 2), torch.gradient(torch.rand(3, 4), dim=1, spacing=2.0))
attempt("small", lambda: torch.gradient(torch.ones(1)))
print(torch.histogram(y, 4), torch.histogram(y, torch.tensor([0.0, 2.0, 7.0]), density=True))
print(torch.histogram(y, bins=3, range=(0.0, 6.0), weight=torch.arange(5.0)))
print(torch.histogramdd(torch.rand(20, 2), [2, 3])[0].sum(), torch.histogramdd(torch.zeros(0, 2), [1, 2]))
print(torch.histogram(torch.ones(3), 2), torch.gradient(y, spacing=None))
low = torch.rand(8, 3) @ torch.rand(3, 6)
u, s, w = torch.svd_lowrank(low, q=4)
print(u.shape, w.shape, torch.allclose(u @ torch.diag(s) @ w.T, low, atol=1e-4), torch.allclose(s[:3], torch.linalg.svdvals(low)[:3], atol=1e-4))
print([part.shape for part in torch.pca_lowrank(torch.rand(5, 7))])
attempt("too many", lambda: torch.pca_lowrank(torch.rand(3, 4), q=5))
print(torch.range(1, 4), torch.range(0, 1, 0.25))
print(torch.ones(3).apply_(lambda v: v + 1), torch.ones(2).map_(torch.arange(2.0), lambda a, b: a - b))
with torch.inference_mode():
    made = x * 2
    inside, other = x[:2], x + 1
    made.add_(1)
print(made, made.is_inference(), inside.is_inference(), made[:1].is_inference(), made.requires_grad)
leaf = x.clone().requires_grad_()
attempt("write", lambda: other.add_(1))
attempt("saved", lambda: leaf * made)
attempt("not saved", lambda: leaf + made)
attempt("leaf", lambda: made.requires_grad_())
attempt("version", lambda: made._version)
attempt("clone", lambda: (leaf * made.clone()).sum())
attempt("parameter", lambda: nn.Linear(4, 1)(made).shape)
