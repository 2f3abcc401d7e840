import torch
from torch._functorch.partitioners import default_partition
from functorch.compile import aot_function, make_boxed_func
from torch._functorch.aot_autograd import aot_export_joint_simple
def show(n):
    def c(gm, i):
        print(n); print(gm.code)
        return make_boxed_func(gm.forward)
    return c
def f(x, w, m):
    h = (x @ w).relu()
    h = torch.nn.functional.dropout(h, 0.3)
    h = h * m
    s = h.shape[0]
    return (h.view(s, -1).sum(1) / s), h.max()
x = torch.ones(2, 3); w = torch.ones(3, 2, requires_grad=True); m = torch.ones(2, 2)
torch.manual_seed(1)
g = aot_function(f, show("fw"), show("bw"), partition_fn=default_partition)
a, b = g(x, w, m)
(a.sum() + b).backward()
print(w.grad.shape)
g2 = aot_function(f, show("fw"), show("bw"), partition_fn=default_partition, dynamic=True)
a, b = g2(torch.ones(5, 3), w, torch.ones(5, 2))
a.sum().backward()
