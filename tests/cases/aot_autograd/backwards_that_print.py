import torch
class Quant(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale, bits):
        q = 2 ** (bits - 1) - 1
        y = torch.clamp(torch.round(x / scale), -q, q)
        ctx.save_for_backward(x, scale, y)
        ctx.q = q
        return y * scale
    @staticmethod
    def backward(ctx, g):
        x, scale, y = ctx.saved_tensors
        m = (x / scale).abs() <= ctx.q
        return g * m, (g * torch.where(m, y - x / scale, y)).sum().reshape(scale.shape), None
class MyLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b=None):
        ctx.save_for_backward(x, w, b)
        o = x.mm(w.t())
        if b is not None:
            o += b.unsqueeze(0).expand_as(o)
        return o
    @staticmethod
    def backward(ctx, g):
        x, w, b = ctx.saved_tensors
        gx = gw = gb = None
        if ctx.needs_input_grad[0]:
            gx = g.mm(w)
        if ctx.needs_input_grad[1]:
            gw = g.t().mm(x)
        if b is not None and ctx.needs_input_grad[2]:
            gb = g.sum(0)
        return gx, gw, gb
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.linspace(-1, 1, 12).view(4, 3))
        self.b = torch.nn.Parameter(torch.zeros(4))
        self.s = torch.nn.Parameter(torch.tensor(0.1))
    def forward(self, x):
        return MyLinear.apply(x, Quant.apply(self.w, self.s, 4), self.b)
m = Layer()
c = torch.compile(m)
x = torch.linspace(0, 1, 6).view(2, 3)
c(x).relu().sum().backward()
print(m.w.grad, m.b.grad, m.s.grad)
class Detach(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x * 2, y.detach() * 3, x.new_zeros(2)
    @staticmethod
    def backward(ctx, a, b, c):
        print(a is None, b is None, c is None)
        return (a * 2 if a is not None else None), (b * 3 if b is not None else None)
@torch.compile
def f(x, y):
    a, b, c = Detach.apply(x, y)
    return a.sum(), b, c
x = torch.ones(2, requires_grad=True); y = torch.ones(2, requires_grad=True)
a, b, c = f(x, y)
a.backward()
print(x.grad, y.grad)
