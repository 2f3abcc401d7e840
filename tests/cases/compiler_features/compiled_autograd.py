import torch
import torch._dynamo.compiled_autograd as ca
from torch._dynamo.utils import counters

torch.manual_seed(0)


def fresh():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def train(model, n, hooks=False):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(n):
        x = torch.randn(5, 4)
        loss = model(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return round(loss.item(), 5)


torch.manual_seed(2)
want = train(fresh(), 3)
torch.manual_seed(2)
with ca._enable(torch.compile(backend="aot_eager", fullgraph=True)):
    got = train(fresh(), 3)
print(want == got, counters["compiled_autograd"]["captures"])

m = fresh()
with ca._enable(torch.compile(backend="aot_eager", fullgraph=True)):
    for n in (3, 4, 5, 6):
        m(torch.ones(n, 4)).sum().backward()
        print(n, m[0].bias.grad.sum().item() != 0)
    with ca._disable():
        m(torch.ones(3, 4)).sum().backward()
g = [p.grad.clone() for p in m.parameters()]
m.zero_grad()
for n in (3, 4, 5, 6, 3):
    m(torch.ones(n, 4)).sum().backward()
print([torch.allclose(a, p.grad) for a, p in zip(g, m.parameters())])

w = torch.ones(3, requires_grad=True)
seen = []
w.register_hook(lambda g: g * 2)
w.register_post_accumulate_grad_hook(lambda p: seen.append(tuple(p.grad.shape)))
y = w * 3
y.register_hook(lambda g: g + 1)
with ca._enable(torch.compile(backend="aot_eager", fullgraph=True)):
    y.sum().backward()
    print(w.grad, seen)
    a = torch.ones(2, requires_grad=True)
    print(torch.autograd.grad((a ** 3).sum(), a))


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


b = torch.arange(3.0, requires_grad=True)
with ca._enable(torch.compile(backend="aot_eager", fullgraph=True)):
    Double.apply(b).sum().backward()
print(b.grad)
try:
    with ca._enable(torch.compile(backend="aot_eager", fullgraph=True)):
        (b * b).sum().backward(create_graph=True)
except RuntimeError as e:
    print(str(e)[:60])
f = torch.compile(lambda x, w: (x @ w).relu().sum(), backend="aot_eager")
x, w2 = torch.randn(3, 3), torch.randn(3, 3, requires_grad=True)
f(x, w2).backward()
g1 = w2.grad
w2.grad = None
with ca._enable(torch.compile(backend="aot_eager", fullgraph=True)):
    f(x, w2).backward()
print(torch.allclose(g1, w2.grad))
