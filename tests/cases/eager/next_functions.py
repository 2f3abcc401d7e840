"""`grad_fn.next_functions`: an edge per argument that has a gradient, also where a number or nothing stands for it."""
import torch
import torch.nn.functional as F

x = torch.ones(2, 2, requires_grad=True)
y = torch.ones(2, 2)


def show(name, t):
    print(name, t.grad_fn.name(), [(None if f is None else f.name(), i) for f, i in t.grad_fn.next_functions])


show("mul", x * 2)
show("rmul", 2 * x)
show("add", x + 1)
show("rsub", 1 - x)
show("div", x / 2)
show("rdiv", 2 / x)
show("pow", x**2)
show("tensors", y * x)
show("matmul", y @ x)
show("where", torch.where(y > 0, x, 0.0))
show("where other", torch.where(y > 0, 0.0, x))
show("lerp", torch.lerp(x, y, 0.5))
show("cat", torch.cat([y, x]))
show("floor", x // 2)
show("masked_fill", x.masked_fill(y > 0, 1.0))
show("index", x[y > 0])
show("index_put", x.clone().index_put_((torch.tensor([0]),), torch.tensor(1.0)))
show("linear", F.linear(y, x))
show("cross entropy", F.cross_entropy(x, torch.tensor([0, 1])))
show("layer norm", F.layer_norm(x, (2,)))
show("fill", x.clone().fill_(2))
show("mul_", x.clone().mul_(2))
show("embedding", F.embedding(torch.tensor([0]), x))
show("gather", x.gather(0, torch.zeros(1, 1, dtype=torch.long)))
show("convolution", F.conv1d(y[None], x[None]))

a = torch.zeros(4)
print(a.is_set_to(a), a.is_set_to(a.view(4)), a[1:].is_set_to(a), a.view(2, 2).is_set_to(a), a.is_set_to(torch.zeros(4)))
print(torch.empty(0).data_ptr(), a[:0].data_ptr(), a[1:].data_ptr() - a.data_ptr())
