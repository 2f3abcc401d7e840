"""Per-sample gradients of a small CNN, model ensembles and Jacobians of a network, with torch.func and with functorch of old."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from functorch import combine_state_for_ensemble, make_functional_with_buffers
from torch.autograd import Variable
from torch.func import functional_call, grad, jacrev, stack_module_state, vmap

torch.manual_seed(0)


class SimpleCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, 1)
        self.conv2 = nn.Conv2d(4, 6, 3, 1)
        self.fc1 = nn.Linear(24, 10)
        self.fc2 = nn.Linear(10, 4)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 3)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)


def loss_fn(predictions, targets):
    return F.nll_loss(predictions, targets)


model = SimpleCNN()
batch, targets = torch.randn(5, 1, 12, 12), torch.randint(0, 4, (5,))


def one_by_one(i):
    loss = loss_fn(model(batch[i : i + 1]), targets[i : i + 1])
    return torch.autograd.grad(loss, list(model.parameters()))


expected = [torch.stack(g) for g in zip(*(one_by_one(i) for i in range(5)))]
params = {k: v.detach() for k, v in model.named_parameters()}
buffers = {k: v.detach() for k, v in model.named_buffers()}


def compute_loss(params, buffers, sample, target):
    predictions = functional_call(model, (params, buffers), (sample.unsqueeze(0),))
    return loss_fn(predictions, target.unsqueeze(0))


per_sample = vmap(grad(compute_loss), in_dims=(None, None, 0, 0))
got = per_sample(params, buffers, batch, targets)
print([torch.allclose(a, b, atol=1e-5) for a, b in zip(expected, got.values())])
compiled = torch.compile(per_sample, backend="aot_eager")
got = compiled(params, buffers, batch, targets)
for (name, g), e in zip(got.items(), expected):
    print(f"{name:13s} {tuple(g.shape)} {g.flatten(1).norm(dim=1).tolist()[0]:.4f} {torch.allclose(g, e, atol=1e-5)}")

norms = torch.stack([g.flatten(1).norm(dim=1) for g in got.values()]).norm(dim=0)
private = {k: torch.einsum("b,b...->...", (0.1 / norms).clamp(max=1), g) / 5 for k, g in got.items()}
print([f"{v:.4f}" for v in norms.tolist()], f"{sum(p.square().sum() for p in private.values()).sqrt():.4f}")

models = [SimpleCNN() for _ in range(3)]
fmodel, ps, bs = combine_state_for_ensemble(models)
out = vmap(fmodel, in_dims=(0, 0, None))(ps, bs, batch)
print(out.shape, torch.allclose(out[1], models[1](batch), atol=1e-5))
ensemble, ebuffers = stack_module_state(models)
base = models[0]
vote = torch.compile(lambda p, b, x: vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), (0, 0, None))(p, b, x).mean(0).argmax(1), backend="aot_eager")
print(vote(ensemble, ebuffers, batch))

f, p, b = make_functional_with_buffers(nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)))
x = Variable(torch.randn(4, 3), requires_grad=True)
J = vmap(jacrev(lambda v: f(p, b, v)))(x)
print(J.shape, f"{J.norm():.4f}")
W = torch.randn(3, 3)
J = torch.compile(lambda v: vmap(jacrev(lambda u: torch.tanh(W @ u) * u))(v), backend="aot_eager")(x.detach())
print(J.shape, f"{J.norm():.4f}")
y = f(p, b, x).square().sum()
y.backward()
print(x.grad.norm().item() > 0, isinstance(x, Variable), len(x.storage()), x.untyped_storage().nbytes())
