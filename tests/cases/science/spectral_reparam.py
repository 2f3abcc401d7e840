"""Reparametrized layers, state dict surgery, checkpoints in memory, module utilities."""
import io
import copy
import json
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.utils.parametrize as parametrize
from torch.nn.utils import spectral_norm, parameters_to_vector, vector_to_parameters
from torch.nn.utils.parametrizations import weight_norm, orthogonal


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)


class MatrixExponential(nn.Module):
    def forward(self, X):
        return torch.matrix_exp(X - X.mT)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = spectral_norm(nn.Conv2d(1, 4, 3, padding=1))
        self.fc = spectral_norm(nn.Linear(4 * 16, 1))
        self.act = nn.LeakyReLU(0.1)

    def forward(self, x):
        return self.fc(self.act(self.conv(x)).flatten(1))


torch.manual_seed(0)
disc = Discriminator()
x = torch.randn(2, 1, 4, 4)
print(sorted(disc.state_dict().keys()))
loss = disc(x).mean()
loss.backward()
print(f"sn {loss.item():.4f} sigma {torch.linalg.matrix_norm(disc.fc.weight.detach(), 2).item():.3f}")
disc.eval()
run = torch.compile(disc)
print(run(x).shape)

layer = nn.Linear(3, 3)
parametrize.register_parametrization(layer, "weight", Symmetric())
print(layer, torch.equal(layer.weight, layer.weight.T))
layer_c = torch.compile(layer)
layer_c(torch.randn(2, 3)).sum().backward()
print(layer.parametrizations.weight.original.grad.shape, parametrize.is_parametrized(layer))
parametrize.remove_parametrizations(layer, "weight")
print(list(dict(layer.named_parameters())))

wn = weight_norm(nn.Linear(4, 2), name="weight")
print([n for n, _ in wn.named_parameters()], wn(torch.ones(1, 4)).shape)
orth = orthogonal(nn.Linear(3, 3, bias=False))
Q = orth.weight
print("orthogonal:", torch.allclose(Q @ Q.T, torch.eye(3), atol=1e-5))
opt = torch.optim.SGD(orth.parameters(), lr=0.1)
orth(torch.randn(4, 3)).pow(2).mean().backward()
opt.step()
Q = orth.weight
print("still orthogonal:", torch.allclose(Q @ Q.T, torch.eye(3), atol=1e-5))

# checkpoints
model = nn.Sequential(OrderedDict(backbone=nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU()), head=nn.Linear(8, 3)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
net = torch.compile(model)
for step in range(2):
    optimizer.zero_grad()
    net(torch.randn(5, 4)).logsumexp(1).mean().backward()
    optimizer.step()
    scheduler.step()
buffer = io.BytesIO()
torch.save({"epoch": 2, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, buffer)
buffer.seek(0)
checkpoint = torch.load(buffer, map_location="cpu")
print(checkpoint["epoch"], list(checkpoint["model"]), checkpoint["scheduler"]["last_epoch"])
clone = copy.deepcopy(model)
for p in clone.parameters():
    nn.init.zeros_(p)
print(clone.load_state_dict(checkpoint["model"]))
print(all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), clone.state_dict().values())))
renamed = OrderedDict((k.replace("backbone.", "encoder."), v) for k, v in checkpoint["model"].items())
missing = clone.load_state_dict(renamed, strict=False)
print(missing.missing_keys, missing.unexpected_keys)
try:
    clone.load_state_dict({"head.weight": torch.zeros(2, 8)})
except RuntimeError as e:
    print(str(e).splitlines()[0], len(str(e).splitlines()))
vec = parameters_to_vector(model.parameters())
vector_to_parameters(vec * 0.5, clone.parameters())
print(vec.numel(), torch.allclose(parameters_to_vector(clone.parameters()) * 2, vec))
print(json.dumps({k: list(v.shape) for k, v in model.state_dict().items()}, indent=1))
print(model.get_submodule("backbone.0"), model.get_parameter("head.bias").shape)
for name, child in model.named_children():
    print(name, "->", type(child).__name__, sum(p.numel() for p in child.parameters()))
frozen = model.backbone.requires_grad_(False)
print([n for n, p in model.named_parameters() if p.requires_grad])
fused = torch.nn.utils.fusion.fuse_linear_bn_eval(model.backbone[0].eval(), model.backbone[1].eval())
z = torch.randn(2, 4)
print(torch.allclose(fused(z), model.eval().backbone[:2](z), atol=1e-5))
