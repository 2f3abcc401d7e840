import torch
from torch.optim import lr_scheduler as S

def run(make, steps=6, metric=None):
    p = torch.nn.Parameter(torch.ones(2))
    opt = torch.optim.SGD([{"params": [p], "lr": 0.1}], lr=0.1, momentum=0.9)
    sch = make(opt)
    out = []
    for i in range(steps):
        loss = (p ** 2).sum()
        opt.zero_grad(); loss.backward(); opt.step()
        sch.step(metric[i]) if metric else sch.step()
        out.append(f"{opt.param_groups[0]['lr']:.5f}")
    return out, sch

print(*run(lambda o: S.OneCycleLR(o, max_lr=0.5, total_steps=7))[0])
print(*run(lambda o: S.CosineAnnealingWarmRestarts(o, T_0=2, T_mult=2))[0])
print(*run(lambda o: S.CyclicLR(o, 0.01, 0.1, step_size_up=2, mode="triangular2"))[0])
print(*run(lambda o: S.ReduceLROnPlateau(o, factor=0.5, patience=1), metric=[1, 1, 1, 0.5, 0.6, 0.7])[0])
print(*run(lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.1, total_iters=2), S.ExponentialLR(o, 0.5)], milestones=[3]))[0])
print(*run(lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.5, total_iters=2), S.MultiStepLR(o, [3, 5], 0.1)]))[0])
print(*run(lambda o: S.PolynomialLR(o, total_iters=4, power=2))[0])
print(*run(lambda o: S.MultiplicativeLR(o, lambda e: 0.9 + 0.01 * e))[0])
out, sch = run(lambda o: S.LambdaLR(o, lambda e: 1 / (1 + e)))
print(*out, sch.get_last_lr(), {k: v for k, v in sch.state_dict().items() if k in ("last_epoch", "_step_count")})

w = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
opt = torch.optim.Adam([w], lr=torch.tensor(0.1))
sched = S.CosineAnnealingLR(opt, T_max=4)

@torch.compile(fullgraph=False)
def step():
    opt.step()
    sched.step()

for _ in range(3):
    opt.zero_grad()
    (w ** 2).sum().backward()
    step()
    print(w.data, opt.param_groups[0]["lr"])
