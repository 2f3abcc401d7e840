import torch
from torch.utils.checkpoint import checkpoint
calls=[]
def body(x):
    calls.append(1)
    return (x.sin() * 2).exp()
x = torch.randn(3, requires_grad=True)
y = checkpoint(body, x, use_reentrant=False).sum()
print(len(calls)); y.backward(); print(len(calls))
g = (x.sin()*2).exp()*2*x.cos()
print(torch.allclose(x.grad, g))
with torch.autograd.graph.saved_tensors_hooks(lambda t: (print("pack", tuple(t.shape)), t)[1], lambda t: (print("unpack"), t)[1]):
    z = (x * x).exp().sum()
z.backward()


for backend in ("aot_eager", "eager"):

    @torch.compile(backend=backend)
    def compiled(a, w):
        def inner(z):
            t = z @ w
            return t.relu(), t

        u, v = checkpoint(inner, a, use_reentrant=False)
        return (u * v).sum()

    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = torch.eye(3, requires_grad=True)
    compiled(a, w).backward()
    print(a.grad, w.grad)
    with torch.no_grad():
        print(compiled(a, w))
