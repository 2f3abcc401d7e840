# What is computed before something is plotted: smoothed curves, a grid of predictions, histograms, an image grid.
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
steps = np.arange(200)
loss = 2.0 * np.exp(-steps / 50) + 0.1 * rng.standard_normal(200)
window = 11
smooth = np.convolve(loss, np.ones(window) / window, mode="valid")
ema = np.zeros_like(loss)
ema[0] = loss[0]
for t in range(1, len(loss)):
    ema[t] = 0.9 * ema[t - 1] + 0.1 * loss[t]
print(smooth.shape, smooth[:5], ema[-3:], loss[::50])
runs = np.stack([loss + 0.05 * rng.normal(size=loss.shape) for _ in range(5)])
mean, low, high = runs.mean(0), np.percentile(runs, 10, axis=0), np.percentile(runs, 90, axis=0)
print(mean[:3], (high - low).mean(), np.median(runs, axis=0)[:3], runs.std(axis=0, ddof=1)[:3])

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
xx, yy = np.meshgrid(np.linspace(-2, 2, 9), np.linspace(-1, 1, 5))
grid = np.c_[xx.ravel(), yy.ravel()].astype(np.float32)
with torch.no_grad():
    zz = torch.sigmoid(net(torch.from_numpy(grid))).numpy().reshape(xx.shape)
print(xx.shape, grid[:2], zz.round(3), np.unravel_index(zz.argmax(), zz.shape))

counts, edges = np.histogram(net[0].weight.detach().numpy(), bins=4)
print(counts, edges, 0.5 * (edges[1:] + edges[:-1]))
images = rng.random((6, 4, 5))
rows = [np.hstack(images[i : i + 3]) for i in range(0, 6, 3)]
sheet = np.pad(np.vstack(rows), 1)
print(sheet.shape, sheet[1, 1:4], (np.clip(sheet, 0, 1) * 255).astype(np.uint8)[1, :6])
theta = np.linspace(0, 2 * np.pi, 5)
print(np.round(np.cos(theta), 3) + 0.0, np.round(np.sin(theta), 3) + 0.0, np.rad2deg(theta), np.hypot(3.0, 4.0))
lrs = 0.5 * (1 + np.cos(np.pi * np.arange(6) / 5)) * 1e-3
print(lrs, np.logspace(-4, -1, 4), np.geomspace(1e-3, 1, 4))
print(np.polyfit(steps[:20], np.log(np.maximum(ema[:20], 1e-8)), 1).round(3), np.gradient(ema)[:3], np.diff(ema, n=2)[:2])
