import torch
class V(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)
    @staticmethod
    def backward(ctx, g):
        return g.view(2, 3) * 7
class Two(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y, x - y
    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ctx.save_for_backward(x, y)
    @staticmethod
    def backward(ctx, ga, gb):
        x, y = ctx.saved_tensors
        return ga * y + gb, ga * x - gb
@torch.compile
def f(x):
    v = V.apply(x)
    a, b = Two.apply(v, v.cos())
    return v, a + b
x = torch.arange(6.).view(2, 3).requires_grad_()
v, s = f(x)
(v.sum() + s.sum()).backward()
print(v, s, x.grad)
