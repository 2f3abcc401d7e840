import torch

@torch.compile
def f(x, o):
    torch.add(x, 1, out=o)
    p = torch.empty(3)
    torch.mul(x, 2, out=p)
    return o * p

x, o = torch.arange(3.), torch.zeros(3)
print(f(x, o), o)

@torch.compile
def g(x):
    q = torch.empty(0)
    torch.mul(x, 2, out=q)
    return q.sin()

print(g(x))
plus = lambda x, o: torch.add(x, 1, out=o)
for h in (plus, torch.compile(plus)):
    try:
        h(torch.ones(3, requires_grad=True), torch.zeros(3))
    except RuntimeError as e:
        print(type(e).__name__, str(e).split("\n")[0])
