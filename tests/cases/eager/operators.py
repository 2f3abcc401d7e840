"""Operators of less common use: values, gradients against differences, and what is refused."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import gradcheck

torch.manual_seed(0)


def tried(title, call):
    try:
        print(title, call())
    except Exception as error:
        print(title, type(error).__name__, str(error).split("\n")[0])


print("ctc_loss")
logits = torch.randn(6, 3, 5, requires_grad=True)
targets = torch.tensor([[1, 2, 2, 4], [3, 1, 0, 0], [1, 1, 1, 1]])
inputs, lengths = torch.tensor([6, 5, 6]), torch.tensor([4, 2, 3])
for reduction in ("none", "mean", "sum"):
    loss = F.ctc_loss(logits.log_softmax(2), targets, inputs, lengths, reduction=reduction)
    (grad,) = torch.autograd.grad(loss.sum(), logits)
    print(reduction, loss, grad.abs().sum(), grad[5, 1])
print(F.ctc_loss(logits.log_softmax(2), torch.tensor([1, 2, 2, 4, 3, 1, 1, 1, 1]), (6, 5, 6), (4, 2, 3), blank=0))
loss = nn.CTCLoss(zero_infinity=True, reduction="none", blank=4)(logits.log_softmax(2), targets.clamp(max=3), inputs, torch.tensor([4, 4, 4]))
print(loss, torch.autograd.grad(loss.sum(), logits)[0].isfinite().all())
print(F.ctc_loss(logits.log_softmax(2), targets, (6, 5, 6), (0, 0, 0), reduction="none"))
print(F.ctc_loss(logits[:, 0].log_softmax(1), targets[0, :3], torch.tensor(6), torch.tensor(3), reduction="none"))
double = torch.randn(5, 2, 4, dtype=torch.float64, requires_grad=True)
short = torch.tensor([[1, 2], [3, 3]])
print(gradcheck(lambda x: F.ctc_loss(x.log_softmax(2), short, (5, 4), (2, 2), reduction="sum"), double))
tried("blank", lambda: F.ctc_loss(logits, targets, (6, 5, 6), (4, 2, 3), blank=9))
tried("sizes", lambda: F.ctc_loss(logits, targets, (6, 5), (4, 2, 3)))
tried("long", lambda: F.ctc_loss(logits, targets, (7, 5, 6), (4, 2, 3)))
tried("kinds", lambda: F.ctc_loss(logits, targets, inputs.float(), lengths))
tried("double backward", lambda: torch.autograd.grad(torch.autograd.grad(F.ctc_loss(logits.log_softmax(2), targets, inputs, lengths), logits, create_graph=True)[0].sum(), logits))

print("grid_sample of volumes")
volume = torch.randn(2, 2, 3, 4, 5, dtype=torch.float64, requires_grad=True)
grid = (torch.rand(2, 2, 3, 2, 3, dtype=torch.float64) * 2.4 - 1.2).requires_grad_()
for mode in ("bilinear", "nearest", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        for corners in (False, True):
            out = F.grid_sample(volume, grid, mode=mode, padding_mode=padding, align_corners=corners)
            grads = torch.autograd.grad(out.sin().sum(), (volume, grid))
            print(mode, padding, corners, [f"{value.sum().item():.6f}" for value in (out, *grads)])
print(gradcheck(lambda x, g: F.grid_sample(x, g, align_corners=False), (volume, grid)))
print(gradcheck(lambda x, g: F.grid_sample(x, g, mode="bicubic", align_corners=True), (volume, grid)))
tried("mixed", lambda: F.grid_sample(volume, grid[:, 0], align_corners=False))

print("fractional_max_pool")
image = torch.randn(2, 3, 7, 9, requires_grad=True)
samples = torch.rand(2, 3, 2)
out, indices = F.fractional_max_pool2d(image, 2, output_size=(4, 5), _random_samples=samples, return_indices=True)
print(out.sum(), indices.sum(), torch.autograd.grad((out * out).sum(), image)[0].sum())
print(F.fractional_max_pool2d(image, 3, output_ratio=(0.5, 0.4), _random_samples=samples).shape)
torch.manual_seed(3)
print(nn.FractionalMaxPool2d(2, output_ratio=0.6)(image)[0, 0])
out = F.fractional_max_pool3d(torch.randn(1, 2, 5, 6, 7), 2, output_size=(2, 3, 3), _random_samples=torch.rand(1, 2, 3))
print(out.shape, out.sum())
tried("too large", lambda: F.fractional_max_pool2d(image, 5, output_size=6, _random_samples=samples))

print("reflectors")
a = torch.randn(5, 3, dtype=torch.float64)
h, tau = torch.geqrf(a)
q = torch.linalg.householder_product(h, tau)
print(torch.allclose(q @ torch.triu(h[:3]), a), torch.allclose(torch.orgqr(h, tau), q))
c = torch.randn(5, 2, dtype=torch.float64)
print(torch.ormqr(h, tau, c), torch.ormqr(h, tau, c.T, left=False, transpose=True).shape)
h, tau, c = (x.clone().requires_grad_() for x in (h, tau, c))
print(gradcheck(torch.linalg.householder_product, (h, tau)))
print(gradcheck(lambda h, tau, c: torch.ormqr(h, tau, c, transpose=True), (h, tau, c)))
tried("wide", lambda: torch.linalg.householder_product(torch.randn(2, 3), torch.randn(2)))

print("factorizations")
wide = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
print(gradcheck(lambda x: torch.linalg.qr(x), (wide,)), gradcheck(lambda x: torch.linalg.qr(x).R, (wide,)))
square = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
values, vectors = torch.linalg.eig(square)
print(values.dtype, vectors.dtype, torch.allclose(square.to(values.dtype) @ vectors, vectors * values))
print(values.abs().sort().values, torch.linalg.eigvals(square).real.sum())
(grad,) = torch.autograd.grad(torch.linalg.eigvals(square).abs().sum(), square)
print(grad)
print(gradcheck(lambda x: torch.linalg.eigvals(x).abs().sort().values, (square,)))
print(gradcheck(lambda x: torch.linalg.eig(x).eigenvectors.abs().sum(0).sort().values, (square,)))
u, p = torch.linalg.polar(square)
print(torch.allclose(u @ p, square), torch.allclose(p, p.T), torch.allclose(u.T @ u, torch.eye(4, dtype=torch.float64)))
symmetric = (square @ square.T).detach()
root = torch.linalg.matrix_sqrth(symmetric)
print(torch.allclose(root @ root, symmetric))
print(torch.linalg.eigvals(torch.tensor([[0.0, -1.0], [1.0, 0.0]])), torch.linalg.eigvals(torch.diag(torch.tensor([3.0, 1.0, 2.0]))))
tried("not square", lambda: torch.linalg.eigvals(torch.randn(2, 3)))

print("statistics and bags")
x = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
w = torch.randn(4, dtype=torch.float64, requires_grad=True)
print(gradcheck(lambda x, w: torch.native_group_norm(x, w, None, 2, 4, 3, 2, 1e-5), (x, w)))
table = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
scales = torch.randn(5, dtype=torch.float64, requires_grad=True)
index, offsets = torch.tensor([0, 3, 5, 5, 1]), torch.tensor([0, 2])
print(gradcheck(lambda t, s: F.embedding_bag(index, t, offsets, mode="sum", per_sample_weights=s), (table, scales)))
print(torch.autograd.grad(F.embedding_bag(index, table, offsets, mode="sum", per_sample_weights=scales, padding_idx=5).sum(), scales)[0])

print("complex numbers drawn")
torch.manual_seed(1)
print(torch.randn(3, dtype=torch.complex64), torch.randn(20, dtype=torch.complex128).sum())
print(torch.rand(2, 2, dtype=torch.complex64), torch.randn_like(torch.zeros(2, dtype=torch.complex64)))
z = torch.empty(3, dtype=torch.complex64)
print(z.normal_(), z.uniform_(), torch.equal(z, z.clone()), torch.allclose(z, z + 1e-9))
