"""How the first gradient of a leaf lies in memory: as the leaf does, however the gradient was expanded or transposed."""

import torch


def show(shape, function, leaf=None):
    p = torch.nn.Parameter(torch.ones(shape)) if leaf is None else leaf.requires_grad_()
    function(p).backward()
    print(tuple(p.shape), p.grad.stride(), p.grad.is_contiguous())


show((1, 1), lambda p: p.sum())
show((1, 2), lambda p: p.sum())
show((1,), lambda p: p.sum())
show((3, 1), lambda p: p.sum())
show((2, 3), lambda p: (p.t() * torch.ones(3, 2)).sum())
show((2, 3), lambda p: p[0].sum())
show((4, 4), lambda p: (p @ torch.ones(4, 2)).sum())
show((1, 4), lambda p: (p * torch.ones(3, 4)).sum())
show((1, 1, 1), lambda p: p.expand(2, 3, 4).sum())
show((), lambda p: p * 2)
show(None, lambda p: p.sum(), torch.ones(2, 3).t())
show(None, lambda p: (p * 2).sum(), torch.ones(2, 3).t())
show(None, lambda p: (p * p).sum(), torch.ones(2, 3, 4, 4).to(memory_format=torch.channels_last))

# An optimizer's compiled step reads them.
p = torch.nn.Parameter(torch.tensor([[0.5]]))
q = torch.nn.Parameter(torch.ones(1, 2))
optimizer = torch.optim.SGD([p, q], lr=0.1, momentum=0.9)
for _ in range(2):
    (p.sum() * 2 + q.sum()).backward()
    torch.compile(optimizer.step)()
    print(p.grad.stride(), q.grad.stride(), p.item(), q.detach())
    optimizer.zero_grad()
