"""All optimizers and schedulers on a small problem, SWA, EMA averaging, GradScaler and bf16 autocast."""
import torch
from torch import nn, optim
from torch.optim import lr_scheduler as S
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn, get_ema_multi_avg_fn
from torch.amp import autocast, GradScaler


def make():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))


x = torch.linspace(-1, 1, 12).view(4, 3)
y = x.sum(1, keepdim=True).sin()
optimizers = {
    "sgd": lambda p: optim.SGD(p, 0.1, momentum=0.9, dampening=0.1, weight_decay=1e-3),
    "adam": lambda p: optim.Adam(p, 0.01, amsgrad=True),
    "adamw": lambda p: optim.AdamW(p, 0.01),
    "nadam": lambda p: optim.NAdam(p, 0.01),
    "radam": lambda p: optim.RAdam(p, 0.01),
    "adamax": lambda p: optim.Adamax(p, 0.01),
    "adadelta": lambda p: optim.Adadelta(p, 1.0),
    "adagrad": lambda p: optim.Adagrad(p, 0.1, lr_decay=0.01),
    "rmsprop": lambda p: optim.RMSprop(p, 0.01, centered=True, momentum=0.5),
    "rprop": lambda p: optim.Rprop(p, 0.01),
    "asgd": lambda p: optim.ASGD(p, 0.1),
}
for name, factory in optimizers.items():
    model = make()
    opt = factory(model.parameters())
    for _ in range(4):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        opt.step()
    print(f"{name:>9}: {loss.item():.6f} {next(iter(model.parameters())).sum().item():+.5f} {sorted(opt.state_dict()['state'][0])}")

schedulers = {
    "step": lambda o: S.StepLR(o, 2, 0.5),
    "multistep": lambda o: S.MultiStepLR(o, [1, 3], 0.1),
    "exp": lambda o: S.ExponentialLR(o, 0.8),
    "cosine": lambda o: S.CosineAnnealingLR(o, 4, eta_min=0.01),
    "restarts": lambda o: S.CosineAnnealingWarmRestarts(o, 2, T_mult=2),
    "linear": lambda o: S.LinearLR(o, 0.25, 1.0, 3),
    "constant": lambda o: S.ConstantLR(o, 0.5, 2),
    "poly": lambda o: S.PolynomialLR(o, 4, power=2.0),
    "onecycle": lambda o: S.OneCycleLR(o, 0.4, total_steps=6),
    "cyclic": lambda o: S.CyclicLR(o, 0.01, 0.1, step_size_up=2, mode="triangular2"),
    "lambda": lambda o: S.LambdaLR(o, lambda e: 0.9**e),
    "mult": lambda o: S.MultiplicativeLR(o, lambda e: 0.95),
    "chained": lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)]),
}
for name, factory in schedulers.items():
    opt = optim.SGD(make().parameters(), lr=0.2, momentum=0.9)
    sched = factory(opt)
    lrs = []
    for _ in range(5):
        opt.step()
        sched.step()
        lrs.append(round(opt.param_groups[0]["lr"], 5))
    print(f"{name:>9}", lrs)
opt = optim.SGD(make().parameters(), lr=1.0)
plateau = S.ReduceLROnPlateau(opt, mode="min", factor=0.5, patience=1)
for metric in (1.0, 1.1, 1.2, 0.9, 0.95, 0.96):
    plateau.step(metric)
print("plateau", opt.param_groups[0]["lr"], plateau.num_bad_epochs)

model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
net = torch.compile(model)
swa_model = AveragedModel(model)
ema_model = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
opt = optim.SGD(model.parameters(), lr=0.1)
swa_sched = SWALR(opt, swa_lr=0.02, anneal_epochs=3)
for epoch in range(4):
    opt.zero_grad()
    loss = nn.functional.huber_loss(net(x), y)
    loss.backward()
    opt.step()
    swa_model.update_parameters(model)
    ema_model.update_parameters(model)
    swa_sched.step()
    print(f"swa epoch {epoch} loss {loss.item():.4f} lr {opt.param_groups[0]['lr']:.4f}")
update_bn([x, x + 1], swa_model)
print(swa_model.n_averaged, f"{swa_model(x).mean().item():.4f} {ema_model.module[0].weight.sum().item():.4f}")

amp_model = make()
amp = torch.compile(amp_model)
opt = optim.Adam(amp_model.parameters(), lr=0.01)
scaler = GradScaler("cpu", enabled=True)
for i in range(2):
    opt.zero_grad(set_to_none=True)
    with autocast(device_type="cpu", dtype=torch.bfloat16):
        out = amp(x)
        loss = nn.functional.mse_loss(out.float(), y)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(amp_model.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    print(f"amp {i} {out.dtype} {loss.item():.4f} scale {scaler.get_scale()}")
