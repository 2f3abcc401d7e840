"""Compressing a classifier: magnitude pruning with masks and hooks, quantization-aware training, knowledge kept in a BytesIO."""
import copy
import io
import logging
import math
import sys
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("compress")
torch.manual_seed(0)


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, g):
        return g


class LSQ(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha, g, Qn, Qp):
        ctx.save_for_backward(x, alpha)
        ctx.other = g, Qn, Qp
        return (x / alpha).round().clamp(Qn, Qp) * alpha

    @staticmethod
    def backward(ctx, grad_weight):
        weight, alpha = ctx.saved_tensors
        g, Qn, Qp = ctx.other
        q_w = weight / alpha
        smaller = (q_w < Qn).float()
        bigger = (q_w > Qp).float()
        between = 1. - smaller - bigger
        grad_alpha = ((smaller * Qn + bigger * Qp + between * (-q_w + q_w.round())) * grad_weight * g).sum().unsqueeze(dim=0)
        return between * grad_weight, grad_alpha, None, None, None


class QuantLinear(nn.Linear):
    def __init__(self, *args, nbits=4, **kwargs):
        super().__init__(*args, **kwargs)
        self.nbits = nbits
        self.Qn, self.Qp = -2 ** (nbits - 1), 2 ** (nbits - 1) - 1
        self.alpha = nn.Parameter(torch.ones(1))
        self.register_buffer("init_state", torch.zeros(1))

    def forward(self, input):
        g = 1.0 / math.sqrt(self.weight.numel() * self.Qp)
        w_q = LSQ.apply(self.weight, self.alpha, g, self.Qn, self.Qp)
        return F.linear(input, w_q, self.bias)

    def extra_repr(self):
        return super().extra_repr() + f", nbits={self.nbits}"


class FakeQuantAct(nn.Module):
    def __init__(self, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.register_buffer("max_val", torch.tensor(0.0))

    def forward(self, x):
        if self.training:
            self.max_val.mul_(1 - self.momentum).add_(self.momentum * x.detach().abs().max())
        scale = self.max_val.clamp(min=1e-8) / 127
        return torch.clamp(Round.apply(x / scale), -128, 127) * scale


class Net(nn.Module):
    def __init__(self, linear=nn.Linear, act=nn.Identity):
        super().__init__()
        self.features = nn.Sequential(OrderedDict([("fc1", linear(8, 32)), ("relu1", nn.ReLU()), ("q1", act()), ("fc2", linear(32, 16)), ("relu2", nn.ReLU())]))
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.features(x))


x = torch.randn(48, 8)
y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).long() + (x[:, 3] > 0.8).long()
net = Net()
print(net)


def train(model, steps, lr=0.05, after=None, teacher=None):
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    fwd = torch.compile(model)
    for i in range(steps):
        logits = fwd(x)
        loss = F.cross_entropy(logits, y)
        if teacher is not None:
            with torch.no_grad():
                soft = F.softmax(teacher(x) / 2.0, -1)
            loss = 0.5 * loss + 0.5 * 4.0 * F.kl_div(F.log_softmax(logits / 2.0, -1), soft, reduction="batchmean")
        opt.zero_grad()
        loss.backward()
        opt.step()
        if after is not None:
            after()
    acc = (model(x).argmax(1) == y).float().mean().item()
    log.info("loss %.4f acc %.3f", loss.item(), acc)
    return acc


train(net, 6)
masks = {}
weights = torch.cat([p.detach().abs().flatten() for n, p in net.named_parameters() if n.endswith("weight")])
threshold = torch.quantile(weights, 0.5)
log.info("threshold %.4f of %d weights, kth %.4f", threshold, weights.numel(), weights.kthvalue(weights.numel() // 2)[0])
for name, p in net.named_parameters():
    if name.endswith("weight"):
        masks[name] = (p.detach().abs() > threshold).to(p.dtype)
        p.register_hook(lambda g, m=masks[name]: g * m)


def apply_masks():
    with torch.no_grad():
        for name, p in net.named_parameters():
            if name in masks:
                p.mul_(masks[name])


apply_masks()
train(net, 4, after=apply_masks)
for name, m in masks.items():
    log.info("%-22s sparsity %5.1f%%", name, 100 * (1 - m.mean().item()))
buffer = io.BytesIO()
torch.save({"state": net.state_dict(), "masks": masks, "epoch": 10, "config": {"nbits": 4}}, buffer)
buffer.seek(0)
checkpoint = torch.load(buffer, weights_only=True)
student = Net(linear=QuantLinear, act=FakeQuantAct)
missing, unexpected = student.load_state_dict(checkpoint["state"], strict=False)
print(missing, unexpected, checkpoint["epoch"], checkpoint["config"])
with torch.no_grad():
    for m in student.modules():
        if isinstance(m, QuantLinear):
            m.alpha.copy_(2 * m.weight.abs().mean() / math.sqrt(m.Qp))
print(student)
train(student, 4, lr=0.01, teacher=copy.deepcopy(net).eval())
levels = torch.unique((student.features.fc1.weight / student.features.fc1.alpha).round().clamp(-8, 7))
print(levels.numel(), f"alpha {student.features.fc1.alpha.item():.4f} act max {student.features.q1.max_val.item():.4f}")
try:
    student.load_state_dict(checkpoint["state"])
except RuntimeError as e:
    print(str(e).splitlines()[0])
    print(str(e).splitlines()[1].strip()[:60])


def quantize_int8(w):
    scale = w.abs().max() / 127
    q = torch.clamp((w / scale).round(), -128, 127).to(torch.int8)
    return q, scale


q, scale = quantize_int8(net.head.weight.detach())
print(q.dtype, q.float().abs().max().item(), f"{(q.float() * scale - net.head.weight).abs().max().item():.5f}", q.element_size(), q.nbytes)
U, S, Vh = torch.linalg.svd(net.features.fc2.weight.detach(), full_matrices=False)
low = (U[:, :4] * S[:4]) @ Vh[:4]
print(f"rank-4 error {(low - net.features.fc2.weight).norm().item() / net.features.fc2.weight.norm().item():.4f}")
