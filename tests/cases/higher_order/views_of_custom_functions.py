"""What a compiled custom function returns as a view: whose view it is."""

import torch


class ViewAs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -g


x, base = torch.ones(3, requires_grad=True), torch.ones(4, requires_grad=True)
part = base[1:3]
one = torch.compile(ViewAs.apply, backend="aot_eager")
for given in (x, x, part, torch.ones(3)):
    z = one(given)
    print(z._base is given, z._base is base, z._is_view(), type(z.grad_fn).__name__)
several = torch.compile(lambda x: (x * 2, x.detach(), ViewAs.apply(x)[0:1], ViewAs.apply(x * 3)), backend="aot_eager")
for z in several(x):
    print(z._base is x, z._base is None, z._is_view())
several(x)[2].sum().backward()
print(x.grad)
module = torch.nn.Linear(2, 2)
_, z = torch.compile(lambda x: (x * 2, ViewAs.apply(module.weight)), backend="aot_eager")(x)
print(z._base is module.weight)
