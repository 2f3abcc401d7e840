import torch

# Attributes that a script puts on tensors are guarded, and numbers among them become symbols.


class Tagged(torch.Tensor):
    pass


@torch.compile
def step(parameters, lr):
    for p in parameters:
        g = p.grad
        if not p.is_bias:
            g = g + p.weight_decay * p
        p.sub_(lr * g)


def make(n, weight_decay):
    p = torch.nn.Parameter(torch.ones(n))
    p.weight_decay, p.is_bias = weight_decay, weight_decay == 0
    p.grad = torch.full_like(p, 0.5)
    return p


parameters = [make(3, 0.5), make(2, 0.0)]
with torch.no_grad():
    for _ in range(2):
        step(parameters, 0.25)
        print([p.tolist() for p in parameters])
    parameters[1].is_bias = False
    step(parameters, 0.25)
    print([p.tolist() for p in parameters])


@torch.compile(fullgraph=True)
def tagged(t):
    return t * t.k


t = torch.ones(2).as_subclass(Tagged)
for k in (4, 5, 6):
    t.k = k
    print(tagged(t))


@torch.compile(fullgraph=True)
def scaled(p):
    return p * p.lr


p = torch.nn.Parameter(torch.ones(2))
for lr in (0.5, 2.0, 3.0):
    p.lr = lr
    y = scaled(p)
    y.sum().backward()
    print(y, p.grad)
