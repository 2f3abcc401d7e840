"""What is read behind a break is no fact of the graph before it; what gives no graph, or fails, is not compiled."""
import torch

torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
seen = []


@torch.compile
def train_step(x, y, accumulate=False):
    loss = torch.nn.functional.mse_loss(model(x), y)
    (loss / 2).backward()
    if not accumulate:
        torch.nn.utils.clip_grad_value_(model.parameters(), 0.1)
    return loss.detach()


x, y = torch.randn(8, 3), torch.randn(8, 1)
for i in range(4):
    print(train_step(x, y, accumulate=i % 2 == 0).item() > 0)


def log(name, t):
    seen.append((name, t.mean().item()))
    return t


@torch.compile
def logged(x):
    x = log("a", x.relu())
    return log("b", x * 2)


for _ in range(3):
    print(logged(x).sum())
print(len(seen))

w = torch.nn.Parameter(torch.ones(3))


@torch.compile
def of_gradient(x):
    if w.grad is not None:
        w.grad = None
    return (x * w).sum()


for _ in range(3):
    of_gradient(torch.ones(3)).backward()
    print(w.grad)


@torch.compile
def maybe_nothing(x, mask=None):
    if mask is None:
        return [x]
    return [x * mask]


print(maybe_nothing(y[:2]), maybe_nothing(y[:2], y[:2]))


@torch.compile
def refuses(x, op):
    total = x + 1
    if op == "max":
        raise ValueError(op)
    return total * 2


print(refuses(y[:2], "sum"))
try:
    refuses(y[:2], "max")
except ValueError as e:
    print("refused", e)
print(refuses(y[:2], "sum"))
