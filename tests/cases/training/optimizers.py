"""Every common optimizer and scheduler over one small compiled model."""
import torch
from torch import nn
from torch.optim import lr_scheduler as S

OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1, weight_decay=1e-3),
    "SGD nesterov": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.8, 0.99), amsgrad=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
    "NAdam": lambda p: torch.optim.NAdam(p, lr=0.01),
    "RAdam": lambda p: torch.optim.RAdam(p, lr=0.05),
    "Adamax": lambda p: torch.optim.Adamax(p, lr=0.01),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05, lr_decay=0.01),
    "Adadelta": lambda p: torch.optim.Adadelta(p, lr=1.0),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01, centered=True, momentum=0.5),
    "Rprop": lambda p: torch.optim.Rprop(p, lr=0.01),
    "ASGD": lambda p: torch.optim.ASGD(p, lr=0.05),
    "Adafactor": lambda p: torch.optim.Adafactor(p, lr=0.01),
}
SCHEDULERS = {
    "StepLR": lambda o: S.StepLR(o, 2, 0.5),
    "MultiStepLR": lambda o: S.MultiStepLR(o, [1, 3]),
    "ExponentialLR": lambda o: S.ExponentialLR(o, 0.9),
    "CosineAnnealingLR": lambda o: S.CosineAnnealingLR(o, 4, eta_min=0.01),
    "CosineAnnealingWarmRestarts": lambda o: S.CosineAnnealingWarmRestarts(o, 2, 2),
    "LambdaLR": lambda o: S.LambdaLR(o, lambda e: 1 / (e + 1)),
    "MultiplicativeLR": lambda o: S.MultiplicativeLR(o, lambda e: 0.95),
    "LinearLR": lambda o: S.LinearLR(o, total_iters=3),
    "ConstantLR": lambda o: S.ConstantLR(o, factor=0.25, total_iters=2),
    "PolynomialLR": lambda o: S.PolynomialLR(o, total_iters=4, power=2.0),
    "OneCycleLR": lambda o: S.OneCycleLR(o, max_lr=0.5, total_steps=6),
    "CyclicLR": lambda o: S.CyclicLR(o, 0.01, 0.1, step_size_up=2),
    "SequentialLR": lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)], milestones=[2]),
    "ChainedScheduler": lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)]),
}


def make():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


x = torch.linspace(-1, 1, 15).view(5, 3)
y = x.pow(2).sum(1, keepdim=True)
for name, build in OPTIMIZERS.items():
    model = make()
    opt = build(model.parameters())
    step = torch.compile(lambda x, y: nn.functional.mse_loss(model(x), y))
    losses = []
    for _ in range(3):
        opt.zero_grad()
        loss = step(x, y)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print(f"{name:14s}", " ".join(f"{v:.5f}" for v in losses), f"{model[0].weight.sum().item():.4f}", len(opt.state))
print(opt)
model = make()
lbfgs = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


print("LBFGS", [f"{lbfgs.step(closure).item():.5f}" for _ in range(2)])
for name, build in SCHEDULERS.items():
    opt = torch.optim.SGD(make().parameters(), lr=0.1, momentum=0.9)
    scheduler = build(opt)
    rates = []
    for _ in range(5):
        opt.step()
        scheduler.step()
        rates.append(scheduler.get_last_lr()[0])
    print(f"{name:28s}", [round(r, 5) for r in rates])
