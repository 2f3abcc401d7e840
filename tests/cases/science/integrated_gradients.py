"""Explaining a small CNN: saliency, SmoothGrad, integrated gradients, guided backprop, occlusion, Grad-CAM; adversarial attacks."""
import contextlib
from collections import OrderedDict, defaultdict
from typing import Callable, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.hooks import RemovableHandle

torch.manual_seed(7)


class ConvBNReLU(nn.Sequential):
    def __init__(self, in_planes, out_planes, kernel_size=3, stride=1, groups=1):
        padding = (kernel_size - 1) // 2
        super(ConvBNReLU, self).__init__(
            nn.Conv2d(in_planes, out_planes, kernel_size, stride, padding, groups=groups, bias=False),
            nn.BatchNorm2d(out_planes),
            nn.ReLU(inplace=False),
        )


class Net(nn.Module):
    def __init__(self, num_classes: int = 4) -> None:
        super().__init__()
        self.features = nn.Sequential(OrderedDict([
            ("stem", ConvBNReLU(1, 8)),
            ("pool", nn.MaxPool2d(2)),
            ("body", ConvBNReLU(8, 16)),
            ("head", ConvBNReLU(16, 16, kernel_size=1)),
        ]))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.classifier = nn.Sequential(nn.Dropout(0.1), nn.Linear(16, num_classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.features(x)
        x = self.avgpool(x)
        x = torch.flatten(x, 1)
        return self.classifier(x)


class FeatureExtractor:
    def __init__(self, model, layers):
        self.model, self.activations, self.gradients = model, {}, {}
        self.handles = []
        for name, module in model.named_modules():
            if name in layers:
                self.handles.append(module.register_forward_hook(self._save(name)))
                self.handles.append(module.register_full_backward_hook(self._save_grad(name)))

    def _save(self, name):
        def hook(module, input, output):
            self.activations[name] = output.detach()
        return hook

    def _save_grad(self, name):
        def hook(module, grad_input, grad_output):
            self.gradients[name] = grad_output[0].detach()
        return hook

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for h in self.handles:
            h.remove()
        return False


def integrated_gradients(model, x, target, baseline=None, steps=8):
    baseline = torch.zeros_like(x) if baseline is None else baseline
    alphas = torch.linspace(0, 1, steps + 1)[1:].view(-1, 1, 1, 1)
    path = (baseline + alphas * (x - baseline)).requires_grad_(True)
    logits = model(path)
    score = logits[torch.arange(steps), target].sum()
    grads, = torch.autograd.grad(score, path)
    return (x - baseline) * grads.mean(0, keepdim=True)


def smooth_grad(model, x, target, n=4, sigma=0.1):
    total = torch.zeros_like(x)
    for _ in range(n):
        noisy = (x + sigma * torch.randn_like(x)).requires_grad_()
        model(noisy)[0, target].backward()
        total += noisy.grad.abs()
    return total / n


@contextlib.contextmanager
def guided_relu(model):
    handles = []
    for m in model.modules():
        if isinstance(m, nn.ReLU):
            handles.append(m.register_full_backward_hook(lambda mod, gi, go: (F.relu(gi[0]),)))
    try:
        yield model
    finally:
        for h in handles:
            h.remove()


def occlusion(model, x, target, window=4, stride=4):
    H, W = x.shape[-2:]
    base = F.softmax(model(x), 1)[0, target]
    heat = torch.empty((H - window) // stride + 1, (W - window) // stride + 1)
    for i, r in enumerate(range(0, H - window + 1, stride)):
        for j, c in enumerate(range(0, W - window + 1, stride)):
            occ = x.clone()
            occ[..., r:r + window, c:c + window] = 0
            heat[i, j] = base - F.softmax(model(occ), 1)[0, target]
    return heat


def fgsm(model, x, y, eps):
    x = x.clone().detach().requires_grad_(True)
    F.cross_entropy(model(x), y).backward()
    return torch.clamp(x + eps * x.grad.sign(), 0, 1).detach()


def pgd(model, x, y, eps=0.1, alpha=0.03, iters=4):
    adv = torch.clamp(x + torch.empty_like(x).uniform_(-eps, eps), 0, 1)
    for _ in range(iters):
        adv.requires_grad = True
        loss = F.cross_entropy(model(adv), y, reduction="sum")
        grad = torch.autograd.grad(loss, adv, retain_graph=False, create_graph=False)[0]
        adv = adv.detach() + alpha * grad.sign()
        adv = torch.min(torch.max(adv, x - eps), x + eps).clamp(0, 1)
    return adv


def make_data(n):
    x = torch.rand(n, 1, 16, 16) * 0.2
    y = torch.randint(0, 4, (n,))
    for i in range(n):
        r, c = divmod(y[i].item(), 2)
        x[i, 0, r * 8 + 2:r * 8 + 6, c * 8 + 2:c * 8 + 6] += 0.7
    return x, y


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        batch_size = target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        res = []
        for k in topk:
            correct_k = correct[:k].reshape(-1).float().sum(0, keepdim=True)
            res.append(correct_k.mul_(100.0 / batch_size))
        return res


model = Net()
x, y = make_data(48)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
train = torch.compile(model)
for epoch in range(6):
    optimizer.zero_grad()
    out = train(x)
    loss = criterion(out, y)
    loss.backward()
    optimizer.step()
    top1, top2 = accuracy(out, y, (1, 2))
    print(f"epoch {epoch}: loss {loss.item():.4f} top1 {top1.item():.2f} top2 {top2.item():.2f}")
model.eval()
sample, target = x[:1], y[0].item()
with FeatureExtractor(model, {"features.stem", "features.head"}) as fx:
    model.zero_grad()
    logits = model(sample)
    logits[0, target].backward()
    print({k: tuple(v.shape) for k, v in fx.activations.items()}, sorted(fx.gradients))
    weights = fx.gradients["features.head"].mean(dim=(2, 3), keepdim=True)
    cam = F.relu((weights * fx.activations["features.head"]).sum(1, keepdim=True))
    cam = F.interpolate(cam, size=sample.shape[-2:], mode="bicubic", align_corners=False)
    cam = (cam - cam.min()) / (cam.max() - cam.min() + 1e-8)
print("cam", cam.shape, f"{cam.mean():.4f}")
ig = integrated_gradients(model, sample, target)
with torch.no_grad():
    delta = model(sample)[0, target] - model(torch.zeros_like(sample))[0, target]
print(f"IG completeness: {ig.sum().item():.4f} vs {delta.item():.4f}")
print(f"SmoothGrad: {smooth_grad(model, sample, target).mean().item():.5f}")
with guided_relu(model) as g:
    inp = sample.clone().requires_grad_()
    g(inp)[0, target].backward()
    print(f"guided: {inp.grad.abs().max().item():.5f} positive {(inp.grad > 0).float().mean().item():.3f}")
with torch.no_grad():
    print("occlusion\n", (occlusion(model, sample, target) * 1e3).round(decimals=2))
for eps in (0.0, 0.05, 0.2):
    adv = fgsm(model, x, y, eps)
    print(f"FGSM eps={eps:<5} acc {(model(adv).argmax(1) == y).float().mean().item() * 100:6.2f}% linf {(adv - x).abs().max().item():.3f}")
adv = pgd(model, x, y)
print("PGD acc", (model(adv).argmax(-1) == y).float().mean(), "counts", torch.bincount(model(adv).argmax(1), minlength=4).tolist())
