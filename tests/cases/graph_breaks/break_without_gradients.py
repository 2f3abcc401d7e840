import torch
@torch.compile
def f(x, w):
    with torch.no_grad():
        y = x @ w
        torch._dynamo.graph_break()
        y = y.relu()
    return (y * w).sum()
w = torch.ones(2, 2, requires_grad=True); r = f(torch.ones(2, 2), w); r.backward(); print(r, w.grad)
