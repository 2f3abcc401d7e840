import torch
class Log(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.log()
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g / x * float("nan")
def f(x):
    return Log.apply(x).sum() + x.sum()
x = torch.rand(3, requires_grad=True)
for fn in (f, torch.compile(f)):
    with torch.autograd.detect_anomaly():
        try:
            fn(x).backward()
        except RuntimeError as e:
            print(e)
class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        raise ValueError("no backward")
with torch.autograd.detect_anomaly():
    try:
        Bad.apply(x).sum().backward()
    except ValueError as e:
        print(e)
try:
    torch.compile(lambda x: Bad.apply(x) + 1)(x)
except Exception as e:
    print(type(e).__name__)
y = torch.compile(lambda x: torch.log(x))(torch.zeros(2, requires_grad=True))
with torch.autograd.detect_anomaly():
    z = y * 0
    try:
        z.sum().backward()
    except RuntimeError as e:
        print(e)
