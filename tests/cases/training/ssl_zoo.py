"""Self-supervised heads side by side: BYOL, Barlow Twins, VICReg, SimSiam and MoCo with its queue."""
import copy
from functools import wraps

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)


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


def default(val, def_val):
    return def_val if val is None else val


def set_requires_grad(model, val):
    for p in model.parameters():
        p.requires_grad = val


def MLP(dim, projection_size, hidden_size=32):
    return nn.Sequential(nn.Linear(dim, hidden_size), nn.BatchNorm1d(hidden_size), nn.ReLU(inplace=True), nn.Linear(hidden_size, projection_size))


class Encoder(nn.Sequential):
    def __init__(self, width=8):
        super().__init__(nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU(True), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.dim = width


class BYOL(nn.Module):
    def __init__(self, net, projection_size=16, moving_average_decay=0.99):
        super().__init__()
        self.online_encoder = nn.Sequential(net, MLP(net.dim, projection_size))
        self.target_encoder = None
        self.beta = moving_average_decay
        self.online_predictor = MLP(projection_size, projection_size)

    @singleton("target_encoder")
    def _get_target_encoder(self):
        target_encoder = copy.deepcopy(self.online_encoder)
        set_requires_grad(target_encoder, False)
        return target_encoder

    def update_moving_average(self):
        for cur, ma in zip(self.online_encoder.parameters(), self._get_target_encoder().parameters()):
            ma.data = ma.data * self.beta + (1 - self.beta) * cur.data

    def forward(self, one, two):
        pred_one = self.online_predictor(self.online_encoder(one))
        pred_two = self.online_predictor(self.online_encoder(two))
        with torch.no_grad():
            target_encoder = self._get_target_encoder()
            proj_one, proj_two = target_encoder(one).detach(), target_encoder(two).detach()
        return (byol_loss(pred_one, proj_two) + byol_loss(pred_two, proj_one)).mean()


def byol_loss(x, y):
    x = F.normalize(x, dim=-1, p=2)
    y = F.normalize(y, dim=-1, p=2)
    return 2 - 2 * (x * y).sum(dim=-1)


def off_diagonal(x):
    n, m = x.shape
    assert n == m
    return x.flatten()[:-1].view(n - 1, n + 1)[:, 1:].flatten()


def barlow(z_a, z_b, lambd=0.0051):
    bn = nn.BatchNorm1d(z_a.shape[1], affine=False)
    c = bn(z_a).T @ bn(z_b)
    c.div_(z_a.shape[0])
    on_diag = torch.diagonal(c).add_(-1).pow_(2).sum()
    off_diag = off_diagonal(c).pow_(2).sum()
    return on_diag + lambd * off_diag


def vicreg(x, y, sim_coeff=25.0, std_coeff=25.0, cov_coeff=1.0):
    repr_loss = F.mse_loss(x, y)
    x = x - x.mean(dim=0)
    y = y - y.mean(dim=0)
    std_x = torch.sqrt(x.var(dim=0) + 0.0001)
    std_y = torch.sqrt(y.var(dim=0) + 0.0001)
    std_loss = torch.mean(F.relu(1 - std_x)) / 2 + torch.mean(F.relu(1 - std_y)) / 2
    cov_x = (x.T @ x) / (x.shape[0] - 1)
    cov_y = (y.T @ y) / (y.shape[0] - 1)
    cov_loss = off_diagonal(cov_x).pow_(2).sum().div(x.shape[1]) + off_diagonal(cov_y).pow_(2).sum().div(x.shape[1])
    return sim_coeff * repr_loss + std_coeff * std_loss + cov_coeff * cov_loss


class MoCo(nn.Module):
    def __init__(self, base_encoder, dim=16, K=16, m=0.999, T=0.07):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q = nn.Sequential(base_encoder(), nn.Linear(8, dim))
        self.encoder_k = nn.Sequential(base_encoder(), nn.Linear(8, dim))
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data.copy_(param_q.data)
            param_k.requires_grad = False
        self.register_buffer("queue", torch.randn(dim, K))
        self.queue = nn.functional.normalize(self.queue, dim=0)
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data = param_k.data * self.m + param_q.data * (1. - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        batch_size = keys.shape[0]
        ptr = int(self.queue_ptr)
        assert self.K % batch_size == 0
        self.queue[:, ptr:ptr + batch_size] = keys.T
        self.queue_ptr[0] = (ptr + batch_size) % self.K

    def forward(self, im_q, im_k):
        q = nn.functional.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update_key_encoder()
            idx = torch.randperm(im_k.shape[0])
            k = nn.functional.normalize(self.encoder_k(im_k[idx]), dim=1)[torch.argsort(idx)]
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])
        logits = torch.cat([l_pos, l_neg], dim=1)
        logits /= self.T
        labels = torch.zeros(logits.shape[0], dtype=torch.long)
        self._dequeue_and_enqueue(k)
        return logits, labels


images = torch.rand(4, 3, 8, 8)
augment = lambda x: (x + 0.1 * torch.randn_like(x)).flip(-1) if torch.rand(()) < 0.5 else x * torch.empty(len(x), 1, 1, 1).uniform_(0.8, 1.2)
byol = BYOL(Encoder())
byol(images, images)
opt = torch.optim.Adam([p for p in byol.parameters() if p.requires_grad], lr=3e-3)
learner = torch.compile(byol)
for i in range(3):
    loss = learner(augment(images), augment(images))
    opt.zero_grad()
    loss.backward()
    opt.step()
    byol.update_moving_average()
    print(f"byol {i} {loss.item():.4f}")
net = nn.Sequential(Encoder(), MLP(8, 8))
for name, criterion in (("barlow", barlow), ("vicreg", vicreg)):
    fn = torch.compile(lambda a, b: criterion(net(a), net(b)))
    net.zero_grad()
    loss = fn(augment(images), augment(images))
    loss.backward()
    print(name, f"{loss.item():.4f}", f"{sum(p.grad.norm() for p in net.parameters()).item():.4f}")
p, z = net(images), net(images).detach()
print("simsiam %.4f" % -(F.cosine_similarity(p, z, dim=-1).mean()))
moco = MoCo(Encoder)
opt = torch.optim.SGD(moco.encoder_q.parameters(), 0.03, momentum=0.9, weight_decay=1e-4)
for i in range(3):
    logits, labels = moco(augment(images), augment(images))
    loss = nn.CrossEntropyLoss()(logits, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    _, pred = logits.topk(2, 1, True, True)
    acc = pred.t().eq(labels.view(1, -1).expand_as(pred.t()))
    print(f"moco {i} {loss.item():.4f} top1 {acc[:1].reshape(-1).float().sum(0).mul_(100.0 / 4).item():.1f} ptr {int(moco.queue_ptr)}")
