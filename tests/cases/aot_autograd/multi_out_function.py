import torch

class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        a, b = x * y, x + y
        ctx.save_for_backward(x, y, a)
        ctx.mark_non_differentiable(b)
        return a, b, x.sin()
    @staticmethod
    def backward(ctx, ga, gb, gs):
        x, y, a = ctx.saved_tensors
        return ga * y + gs * x.cos() + a, ga * x
@torch.compile
def f(x, y):
    a, b, s = F.apply(x, y)
    return a + b, s, b
x, y = torch.arange(3.).requires_grad_(), torch.ones(3, requires_grad=True)
o, s, b = f(x, y)
print(o, s, b, b.requires_grad)
(o.sum() + s.sum()).backward()
print(x.grad, y.grad)
