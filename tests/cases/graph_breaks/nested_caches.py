import torch

@torch.compile
def f(x, y):
    z = x + y
    torch._dynamo.graph_break()
    w = z.sigmoid()
    print("shape", w.shape[0])
    return (w * z).sum()

torch.manual_seed(3)
for n in (3, 4, 5):
    x = torch.randn(n, 2, requires_grad=True)
    y = torch.randn(2)
    l = f(x, y)
    l.backward()
    print(round(l.item(), 4), round(x.grad.norm().item(), 4))
ex = torch._dynamo.explain(lambda a, b: f(a, b))(torch.ones(2), torch.ones(2))
print(ex.graph_count, ex.graph_break_count, ex.op_count)
