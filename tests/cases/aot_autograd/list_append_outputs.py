import torch

@torch.compile
def f(xs):
    for x in xs:
        x.add_(1)
    return [x * 2 for x in xs], sum(xs)
xs = [torch.zeros(2), torch.ones(2)]
print(f(xs), xs)
