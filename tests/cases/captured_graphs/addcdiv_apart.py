import torch

def show(gm, inputs):
    print(gm.code.strip())
    return gm.forward

@torch.compile(backend=show)
def f(p, a, b):
    p = torch.addcdiv(p, a, b, value=0.5)
    q = torch.addcdiv(p, a, b)
    return q.addcdiv(a, b, value=-0.1)

print(f(torch.ones(3), torch.ones(3), torch.full((3,), 2.0)))
