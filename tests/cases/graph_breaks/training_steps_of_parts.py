import torch, torch.nn as nn, torch.nn.functional as F

torch.manual_seed(0)
x, y = torch.randn(5, 3), torch.randn(5, 1)


def groups(model):
    first, second = model.parameters()
    return torch.optim.Adam([{"params": [first]}, {"params": [second], "lr": 0.01}], lr=0.1)


# Parameters in groups, and an average of them that follows.
model, average = nn.Linear(3, 1), nn.Linear(3, 1)
optimizer = groups(model)


@torch.compile
def step(x, y):
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for p, q in zip(model.parameters(), average.parameters()):
            q.mul_(0.9).add_(p, alpha=0.1)
    return loss.item()


print([f"{step(x, y):.4f}" for _ in range(3)])

# A step alone, and with a schedule of the learning rate.
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
compiled = torch.compile(model)
update = torch.compile(optimizer.step)
for _ in range(3):
    loss = F.mse_loss(compiled(x), y)
    loss.backward()
    update()
    optimizer.zero_grad()
    print(f"{loss.item():.4f}")


torch._dynamo.reset()


@torch.compile
def scheduled():
    optimizer.step()
    schedule.step()


for _ in range(4):
    loss = F.mse_loss(compiled(x), y)
    loss.backward()
    scheduled()
    optimizer.zero_grad()
    print(f"{loss.item():.4f}")

# Scaled losses, and gradients by hand.
scaler = torch.amp.GradScaler("cpu")
weight = torch.randn(3, 1, requires_grad=True)


@torch.compile
def scaled(x, y):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


@torch.compile
def by_hand(x, y):
    loss = F.mse_loss(x @ weight, y)
    loss.backward()
    with torch.no_grad():
        weight.sub_(0.1 * weight.grad)
        weight.grad = None
    return loss


@torch.compile
def by_grad(x, y):
    (gradient,) = torch.autograd.grad(F.mse_loss(x @ weight, y), weight)
    return gradient * 2


print(f"{scaled(x, y):.4f} {scaled(x, y):.4f}")
print(f"{by_hand(x, y).item():.4f} {by_hand(x, y).item():.4f}")
print(by_grad(x, y).shape)
