import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, flag):
        ctx.save_for_backward(a, b)
        ctx.set_materialize_grads(False)
        return a * b, a + b
    @staticmethod
    def backward(ctx, g1, g2):
        a, b = ctx.saved_tensors
        ga = g1 * b if g1 is not None else None
        if g2 is not None:
            ga = g2 if ga is None else ga + g2
        return ga, None, None
@torch.compile
def f(a, b):
    x, y = F.apply(a, b, True)
    return x.cos(), y.detach()
a = torch.randn(3, generator=torch.Generator().manual_seed(0)).requires_grad_()
b = torch.ones(3, requires_grad=True)
x, y = f(a, b)
x.sum().backward()
print(a.grad, b.grad, y.requires_grad)
