import torch


def f(x):
    y = x * 2
    z = torch.sqrt(y - 2)
    return (z * 0).sum()


class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        raise RuntimeError("no gradient today")


def run(x):
    y = x + x
    return Bad.apply(y).sum()


def attempt(loss):
    try:
        loss.backward()
    except RuntimeError as e:
        print(e)


x = torch.ones(2, requires_grad=True)
with torch.autograd.detect_anomaly():
    attempt(f(x))
    attempt(run(x))
    attempt(torch.compile(f, backend="aot_eager")(x))
outside = f(x)
torch.autograd.set_detect_anomaly(True)
print(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
attempt(outside)
torch.autograd.set_detect_anomaly(True, check_nan=False)
attempt(f(x))
y = x.exp()
z = y * 3
y.add_(1)
attempt(y.sum())
torch.autograd.set_detect_anomaly(False)
attempt(f(x))
print(x.grad)
