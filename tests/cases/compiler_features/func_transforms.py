"""torch.func, eager and compiled."""
import torch
from torch import nn
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap

torch.manual_seed(0)


def loss_fn(w, b, x, y):
    return ((x @ w + b).sigmoid() - y).pow(2).mean()


w, b, x, y = torch.randn(3), torch.randn(()), torch.randn(5, 3), torch.rand(5)
print(grad(loss_fn)(w, b, x, y))
print(grad(loss_fn, argnums=(0, 1))(w, b, x, y))
g, v = grad_and_value(loss_fn)(w, b, x, y)
print(g.shape, v)
per_sample = vmap(grad(loss_fn), in_dims=(None, None, 0, 0))
print(per_sample(w, b, x, y))
f = lambda x: x.sin() * x.pow(2).sum()
print(jacrev(f)(torch.arange(3.0)))
print(jacfwd(f)(torch.arange(3.0)))
print(hessian(lambda x: x.pow(3).sum() + x.prod())(torch.tensor([1.0, 2.0, 3.0])))
out, vjp_fn = vjp(torch.sin, torch.tensor([0.0, 1.0]))
print(out, vjp_fn(torch.ones(2)))
print(jvp(lambda x, y: (x * y).exp(), (torch.tensor(0.5), torch.tensor(2.0)), (torch.tensor(1.0), torch.tensor(0.0))))
print(vmap(torch.dot)(torch.arange(6.0).view(2, 3), torch.ones(2, 3)))
print(vmap(lambda a, c: a + c, in_dims=(0, None), out_dims=1)(torch.arange(2.0), torch.zeros(3)))
print(vmap(vmap(lambda a: a * 2))(torch.ones(2, 3)).shape)
print(vmap(lambda d: d["a"] + d["b"], in_dims=({"a": 0, "b": None},))({"a": torch.arange(3.0), "b": torch.tensor(1.0)}))

model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
params = {k: v.detach() for k, v in model.named_parameters()}


def compute_loss(params, sample, target):
    out = functional_call(model, params, (sample.unsqueeze(0),))
    return nn.functional.cross_entropy(out, target.unsqueeze(0))


ft_per_sample = vmap(grad(compute_loss), in_dims=(None, 0, 0))
targets = torch.tensor([0, 1, 1, 0, 1])
ft = ft_per_sample(params, x, targets)
print({k: tuple(v.shape) for k, v in ft.items()}, ft["2.bias"])
models = [nn.Linear(3, 2) for _ in range(3)]
p, bufs = stack_module_state(models)
base = models[0]
fmodel = lambda p, bufs, x: functional_call(base, (p, bufs), (x,))
print(vmap(fmodel, in_dims=(0, 0, None))(p, bufs, x).shape)
compiled = torch.compile(lambda w, x: vmap(grad(lambda w, x: (w * x).sin().sum()), in_dims=(None, 0))(w, x))
print(compiled(w, x))
try:
    vmap(lambda x: x.sum().item())(torch.ones(3))
except RuntimeError as e:
    print(str(e)[:80])
torch.manual_seed(0)
print(vmap(lambda x: x + torch.rand(()), randomness="different")(torch.zeros(3)))
print(vmap(lambda x: x + torch.rand(()), randomness="same")(torch.zeros(3)))
