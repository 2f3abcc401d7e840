import torch


@torch.compile
def f(x, w, b):
    y = x @ w.t()
    z = x.transpose(0, 1) @ w.t()
    return y, z, torch.nn.functional.linear(z, w, b), torch.matmul(w, x[0].t())


for grad in (True, False):
    w = torch.ones(3, 3, requires_grad=grad)
    with torch.no_grad():
        results = f(torch.ones(2, 4, 3), w, torch.ones(3))
    print([tuple(t.shape) for t in results], results[0].requires_grad)
