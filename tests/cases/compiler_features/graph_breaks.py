"""Code with data-dependent control flow, printing and mutation inside compiled functions, as people debug it."""
import warnings
import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.simplefilter("ignore")
torch.manual_seed(0)


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


fn = torch.compile(toy_example)
for i in range(3):
    print(i, fn(torch.randn(4), torch.randn(4)).abs().sum().item().__format__(".4f"))


class EarlyExit(nn.Module):
    def __init__(self, n=3, threshold=0.6):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(5, 5) for _ in range(n))
        self.exits = nn.ModuleList(nn.Linear(5, 2) for _ in range(n))
        self.threshold = threshold

    def forward(self, x):
        for i, (layer, head) in enumerate(zip(self.layers, self.exits)):
            x = torch.relu(layer(x))
            p = head(x).softmax(-1)
            if p.max() > self.threshold:
                break
        return p, i


model = EarlyExit()
net = torch.compile(model)
p, used = net(torch.randn(1, 5))
print("exit", used, p.shape)
p.log().sum().backward()
print([n for n, q in model.named_parameters() if q.grad is None])

history = []


@torch.compile
def train_step(w, x, y):
    pred = x @ w
    loss = F.mse_loss(pred, y)
    history.append(loss.item())
    grad = 2 * x.t() @ (pred - y) / x.shape[0]
    w -= 0.1 * grad
    return loss


w = torch.zeros(3, 1)
x = torch.randn(10, 3)
y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
for _ in range(4):
    train_step(w, x, y)
print(["%.4f" % h for h in history], w.flatten())


class Counter:
    def __init__(self):
        self.calls = 0
        self.cache = {}


state = Counter()


@torch.compile
def memo(x, key):
    state.calls += 1
    if key not in state.cache:
        state.cache[key] = x.sin()
    return state.cache[key] + x


print(memo(torch.ones(2), "a"), memo(torch.zeros(2), "a"), state.calls, sorted(state.cache))


@torch.compile
def noisy(x):
    y = x + 1
    print("inside:", y.shape)
    z = y * 2
    return z


print(noisy(torch.ones(2)))


@torch.compile
def checked(x):
    try:
        y = x.view(3, 3)
    except RuntimeError:
        y = x.view(2, 2)
    return y.t().contiguous()


print(checked(torch.arange(4.0)))


@torch._dynamo.disable
def helper(x):
    return x.numpy().sum() if False else float(x.sum())


@torch.compile
def uses_helper(x):
    a = x * 2
    b = helper(a)
    return a + b


print(uses_helper(torch.ones(3)))


def newton_sqrt(v, tol=1e-4):
    g = torch.ones_like(v)
    n = 0
    while (g * g - v).abs().max() > tol:
        g = 0.5 * (g + v / g)
        n += 1
    return g, n


root, n = torch.compile(newton_sqrt)(torch.tensor([2.0, 9.0]))
print(root, n)
lengths = torch.tensor([2, 3, 1])


@torch.compile
def ragged_mean(x, lengths):
    out = []
    for row, n in zip(x, lengths.tolist()):
        out.append(row[:n].mean())
    return torch.stack(out)


print(ragged_mean(torch.arange(12.0).view(3, 4), lengths))
try:
    torch.compile(lambda t: t * t.sum().item(), fullgraph=True)(torch.ones(2))
except Exception as e:
    print(type(e).__name__)
