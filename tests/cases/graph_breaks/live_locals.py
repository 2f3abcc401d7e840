import torch
@torch.compile
def f(x, w):
    a = x @ w
    b = a.relu()
    dead = b * 3
    d = {"k": b, "l": [a, a]}
    n = 4
    print("break")
    return d["k"].sum() * n + d["l"][0].sum()
x = torch.ones(2, 2); w = torch.ones(2, 2, requires_grad=True)
y = f(x, w); y.backward(); print(y, w.grad)
