# vmap where examples are numbers, where a number of each example's own fills a mask, and where one operand alone is batched.
import torch
import torch.nn.functional as F
from torch.func import vmap
from torch.fx.experimental.proxy_tensor import make_fx

x = torch.arange(12.0).reshape(3, 4)
mask = torch.tensor([True, False, True, False])
values = torch.tensor([1.0, 5.0, 9.0])


def show(name, f, *args, in_dims=0):
    try:
        print(name, vmap(f, in_dims=in_dims)(*args).tolist())
    except Exception as error:
        print(name, type(error).__name__, str(error)[:100])


fill = lambda x, v: x.masked_fill(mask, v)
show("masked_fill", fill, x, values)
show("with integers", fill, x, values.long())
show("masks apart", lambda x, m, v: x.masked_fill(m, v), x, x > 5, values)
show("values alone", lambda v: x[0].masked_fill(mask, v), values)
show("in place", lambda x, v: x.clone().masked_fill_(mask, v), x, values)
show("broadcast", lambda x, v: x.masked_fill(torch.ones(2, 1, dtype=torch.bool), v), x, values)
show("no number", fill, x, x)
show("other dimension", lambda x, v: x.masked_fill(torch.tensor([True, False, True]), v), x, torch.arange(4.0), in_dims=(1, 0))
print(torch.func.vmap(torch.func.grad(lambda v, x: fill(x, v).sum()))(values, x))
print(make_fx(vmap(lambda x, m, v: x.masked_fill(m, v)))(x, x > 5, values).code.strip())

numbers = torch.arange(3.0)
of_numbers = {
    "sum of no dimension": lambda x: x.sum(()),
    "sum of no dimension, kept": lambda x: x.sum((), keepdim=True),
    "sum, kept": lambda x: x.sum(0, keepdim=True),
    "max, kept": lambda x: x.max(0, keepdim=True)[0],
    "mean, kept": lambda x: x.mean(0, keepdim=True),
    "argmax, kept": lambda x: x.argmax(0, keepdim=True),
    "median, kept": lambda x: x.median(0, keepdim=True)[0],
    "nansum": lambda x: x.nansum(0),
    "nanmean": lambda x: x.nanmean(),
    "masked mean": lambda x: torch.masked.mean(x),
    "transpose": lambda x: x.transpose(0, 0),
    "unfold": lambda x: x.unfold(0, 1, 1),
    "gather": lambda x: x.gather(0, torch.tensor([0])),
    "index_add": lambda x: x.index_add(0, torch.tensor([0]), torch.tensor(2.0)),
    "bincount": lambda x: torch.bincount(x.long().expand(2), minlength=4),
}
for name, f in of_numbers.items():
    show(name, f, numbers)

show("flip of no dimension", lambda x: torch.flip(x, ()), x)
show("squeeze of no dimension", lambda x: x.view(1, 4, 1).squeeze(()), x)
show("cat with nothing", lambda x: torch.cat([torch.tensor([]), x[None]], dim=1), x)
show("as_strided_copy", lambda x: torch.as_strided_copy(x, (2, 2), (1, 1), 0), x)
show("masked_select", lambda x: torch.masked_select(x, mask), x)
show("masked_select, masks apart", torch.masked_select, x, x > 5)
show("repeat_interleave", lambda r: torch.repeat_interleave(torch.arange(2), r, output_size=3), torch.tensor([[1, 2], [2, 1]]))

bce = F.binary_cross_entropy_with_logits
show("weight", lambda x, t, w: bce(x, t, weight=w), x[0] / 9, x[1] / 9, x, in_dims=(None, None, 0))
show("pos_weight", lambda x, t, w: bce(x, t, pos_weight=w), x[0] / 9, x[1] / 9, x, in_dims=(None, None, 0))
print(make_fx(vmap(lambda x: bce(x, x, weight=x[:1], pos_weight=x)))(x).code.strip())
