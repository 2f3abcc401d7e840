# A view whose dimensions are changed in place: nothing to its base, a node of its own to autograd; the same in transforms.
import torch
from torch.func import grad, jvp, vmap

TURNS = {
    "squeeze_": lambda y: y.squeeze_(),
    "transpose_": lambda y: y.transpose_(0, 1),
    "unsqueeze_": lambda y: y.unsqueeze_(0),
    "t_": lambda y: y.t_(),
    "then written": lambda y: y.squeeze_(0).mul_(2),
    "written before": lambda y: y.mul_(2).t_(),
}


def nodes(node, depth=0):
    if node is None:
        return []
    return [node.name(), *(name for inner, _ in node.next_functions for name in nodes(inner, depth + 1))]


for name, turn in TURNS.items():
    x = torch.arange(3.0, requires_grad=True)
    base = x * 2
    y = base.unsqueeze(0)
    turn(y)
    print(name, y.shape, y._is_view(), nodes(y.grad_fn))
    weights = torch.arange(3.0).view(y.shape) + 1
    print(torch.autograd.grad((y * weights).sum(), x, retain_graph=True)[0], torch.autograd.grad(base.sum(), x)[0])

    def loss(x):
        y = (x * 2).unsqueeze(0)
        turn(y)
        return (y * y).sum()

    print(grad(loss)(x.detach()), jvp(loss, (x.detach(),), (x.detach(),)), vmap(loss)(x.detach().repeat(2, 1)))
    try:
        print(torch.compile(loss, backend="aot_eager")(x))
    except Exception as error:
        print(type(error).__name__)


@torch.compile
def written(x):
    y = (x * 2).view(1, 3)
    y.squeeze_(0)
    y.mul_(3)
    return y.sum()


@torch.compile
def base_written(x):
    base = x.clone()
    y = base.unsqueeze(0)
    z = y.view(3)
    y.transpose_(0, 1)
    z.mul_(2)
    return (y * torch.arange(3.0)[:, None]).sum()


for f in (written, base_written):
    x = torch.arange(3.0, requires_grad=True)
    f(x).backward()
    print(x.grad)
