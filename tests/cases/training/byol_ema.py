"""BYOL, SimSiam, Barlow Twins, VICReg, SwAV-like prototypes and MoCo queue on toy vectors."""
import copy
import math
from enum import Enum, auto
from functools import wraps

import torch
from torch import nn
import torch.nn.functional as F


class Method(Enum):
    BYOL = auto()
    SIMSIAM = auto()
    BARLOW = auto()
    VICREG = auto()
    MOCO = auto()


def singleton(cache_key):
    def inner_fn(fn):
        @wraps(fn)
        def wrapper(self, *args, **kwargs):
            instance = getattr(self, cache_key)
            if instance is not None:
                return instance
            instance = fn(self, *args, **kwargs)
            setattr(self, cache_key, instance)
            return instance

        return wrapper

    return inner_fn


class EMA:
    def __init__(self, beta):
        super().__init__()
        self.beta = beta

    def update_average(self, old, new):
        if old is None:
            return new
        return old * self.beta + (1 - self.beta) * new


def update_moving_average(ema_updater, ma_model, current_model):
    for current_params, ma_params in zip(current_model.parameters(), ma_model.parameters()):
        old_weight, up_weight = ma_params.data, current_params.data
        ma_params.data = ema_updater.update_average(old_weight, up_weight)


def MLP(dim, projection_size, hidden_size=32):
    return nn.Sequential(nn.Linear(dim, hidden_size), nn.BatchNorm1d(hidden_size), nn.ReLU(inplace=True), nn.Linear(hidden_size, projection_size))


class NetWrapper(nn.Module):
    def __init__(self, net, projection_size, layer=-2):
        super().__init__()
        self.net, self.layer, self.projection_size = net, layer, projection_size
        self.projector = None
        self.hidden = {}
        self.hook_registered = False

    def _find_layer(self):
        if type(self.layer) == str:
            return dict([*self.net.named_modules()]).get(self.layer, None)
        elif type(self.layer) == int:
            return [*self.net.children()][self.layer]

    def _hook(self, _, input, output):
        self.hidden[input[0].device] = output.reshape(output.shape[0], -1)

    def _register_hook(self):
        layer = self._find_layer()
        assert layer is not None, f"hidden layer ({self.layer}) not found"
        layer.register_forward_hook(self._hook)
        self.hook_registered = True

    @singleton("projector")
    def _get_projector(self, hidden):
        return MLP(hidden.shape[1], self.projection_size).to(hidden)

    def get_representation(self, x):
        if not self.hook_registered:
            self._register_hook()
        self.hidden.clear()
        _ = self.net(x)
        hidden = self.hidden[x.device]
        self.hidden.clear()
        return hidden

    def forward(self, x):
        rep = self.get_representation(x)
        return self._get_projector(rep)(rep)


def loss_fn(x, y):
    x = F.normalize(x, dim=-1, p=2)
    y = F.normalize(y, dim=-1, p=2)
    return 2 - 2 * (x * y).sum(dim=-1)


def off_diagonal(x):
    n, m = x.shape
    assert n == m
    return x.flatten()[:-1].view(n - 1, n + 1)[:, 1:].flatten()


def barlow(z1, z2, lambd=0.005):
    bn = nn.BatchNorm1d(z1.size(1), affine=False)
    c = bn(z1).T @ bn(z2)
    c.div_(z1.size(0))
    on_diag = torch.diagonal(c).add_(-1).pow_(2).sum()
    return on_diag + lambd * off_diagonal(c).pow_(2).sum()


def vicreg(x, y):
    repr_loss = F.mse_loss(x, y)
    x, y = x - x.mean(dim=0), y - y.mean(dim=0)
    std_loss = sum(torch.mean(F.relu(1 - torch.sqrt(t.var(dim=0) + 0.0001))) for t in (x, y)) / 2
    cov = lambda t: off_diagonal(t.T @ t / (t.size(0) - 1)).pow_(2).sum().div(t.size(1))
    return 25 * repr_loss + 25 * std_loss + cov(x) + cov(y)


class MoCo(nn.Module):
    def __init__(self, encoder, dim=8, K=16, m=0.9, T=0.1):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q, self.encoder_k = encoder, copy.deepcopy(encoder)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data = k.data * self.m + q.data * (1.0 - self.m)

    @torch.no_grad()
    def _enqueue(self, keys):
        ptr = int(self.queue_ptr)
        self.queue[:, ptr : ptr + keys.shape[0]] = keys.T
        self.queue_ptr[0] = (ptr + keys.shape[0]) % self.K

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update()
            k = F.normalize(self.encoder_k(im_k), dim=1)
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long)
        self._enqueue(k)
        return F.cross_entropy(logits, labels)


@torch.no_grad()
def sinkhorn(out, eps=0.05, iterations=3):
    Q = torch.exp(out / eps).t()
    B, K = Q.shape[1], Q.shape[0]
    Q /= torch.sum(Q)
    for _ in range(iterations):
        Q /= torch.sum(Q, dim=1, keepdim=True)
        Q /= K
        Q /= torch.sum(Q, dim=0, keepdim=True)
        Q /= B
    Q *= B
    return Q.t()


def backbone():
    return nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 16), nn.Linear(16, 8))


def augment(x):
    return x + 0.1 * torch.randn_like(x) * (torch.rand(x.size(0), 1) > 0.5)


def train(method: Method, steps: int = 3):
    torch.manual_seed(method.value)
    x = torch.randn(8, 12)
    if method is Method.MOCO:
        net = MoCo(backbone())
        compute = torch.compile(net, backend="aot_eager")
    elif method in (Method.BARLOW, Method.VICREG):
        net = nn.Sequential(backbone(), MLP(8, 10))
        crit = {Method.BARLOW: barlow, Method.VICREG: vicreg}[method]
        compute = torch.compile(lambda a, b: crit(net(a), net(b)), backend="aot_eager")
    else:
        net = nn.ModuleDict({"online": NetWrapper(backbone(), 8), "predictor": MLP(8, 8)})
        net["online"](x)
        target = copy.deepcopy(net["online"]) if method is Method.BYOL else net["online"]
        ema = EMA(0.9)
        predictor = torch.compile(net["predictor"], backend="aot_eager")

        def compute(a, b):
            p1, p2 = predictor(net["online"](a)), predictor(net["online"](b))
            with torch.no_grad():
                t1, t2 = target(a).detach_(), target(b).detach_()
            return (loss_fn(p1, t2) + loss_fn(p2, t1)).mean()

    opt = torch.optim.SGD((p for p in net.parameters() if p.requires_grad), lr=0.05, momentum=0.9, weight_decay=1e-4)
    out = []
    for _ in range(steps):
        loss = compute(augment(x), augment(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if method is Method.BYOL:
            update_moving_average(ema, target, net["online"])
        out.append(f"{loss.item():.4f}")
    print(f"{method.name:8s} {method!r} {' '.join(out)}")


for method in Method:
    train(method)
q = sinkhorn(torch.linspace(-1, 1, 12).view(4, 3).sin())
print(q, q.sum(1))
