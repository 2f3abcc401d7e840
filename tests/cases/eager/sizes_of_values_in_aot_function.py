"""Sizes that values decide in functions that AOTAutograd is given without Dynamo."""
import torch
from functorch.compile import aot_function, make_boxed_func
def p(g, _): print(g.code); return make_boxed_func(g.forward)
f = aot_function(lambda x: x.nonzero()*2, p, dynamic=True)
print(f(torch.tensor([0., 1., 2.])))
print(f(torch.tensor([0., 0., 2.])))
g = aot_function(lambda x: x[x > 0].sin(), p, dynamic=True)
x = torch.tensor([0.5, -1., 2.], requires_grad=True)
g(x).sum().backward(); print(x.grad)
