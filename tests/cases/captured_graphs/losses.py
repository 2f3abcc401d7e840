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


mse, bce, l1, smooth = nn.MSELoss(), nn.BCEWithLogitsLoss(), nn.L1Loss(reduction="sum"), nn.SmoothL1Loss()


def step(model, criterion, x, t):
    out = model(x)
    loss = criterion(out, t)
    return loss, mse(out, out.detach()), bce(out, torch.sigmoid(out)), l1(out, out * 2), smooth(out, out + 1)


compiled(step)(nn.Linear(4, 3), nn.CrossEntropyLoss(label_smoothing=0.1), torch.randn(2, 4), torch.tensor([0, 2]))
