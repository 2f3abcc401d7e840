import torch
import torch.nn as nn
import torch.nn.functional as F


def show(gm, example_inputs):
    print(gm.graph)
    print(gm.code)
    print(gm.print_readable(print_output=False))
    for n in gm.graph.nodes:
        value = n.meta.get("example_value")
        told = (tuple(value.shape), value.dtype, value.requires_grad, value.is_leaf) if isinstance(value, torch.Tensor) else value is not None
        print(n.op, n.name, getattr(n.target, "__name__", n.target), n.args, n.kwargs, told, sorted(n.users, key=str))
    return gm


def compiled(f, **options):
    return torch.compile(f, backend=show, **options)


def f(x, w):
    y = x.view(-1)
    z = x.sum(0).mean()
    a = x.mean(dim=1, keepdim=True).squeeze(-1)
    b = x.transpose(0, 1).contiguous().reshape(2, 8)
    c = x.permute(1, 0).unsqueeze(0).expand(3, -1, -1)
    d = x.float().to(torch.float64).type(torch.float32)
    e = x.masked_fill(x > 0, float("-inf"))
    g = x.softmax(dim=-1).argmax(-1)
    h = x.repeat(1, 2).flatten(0, 1).chunk(2)[0]
    i = x.std(), x.var(0, unbiased=False), x.norm(), x.max(), x.min(dim=1).values
    j = x.clamp(min=0).pow(2).clone().detach()
    k = x.gather(1, g[:, None]), x.new_zeros(2, 3), x.matmul(w), x.split(2, 1), x.unbind(0)[1]
    return y, z, a, b, c, d, e, g, h, i, j, k


compiled(f)(torch.randn(4, 4), torch.randn(4, 4))
