# Data made by a generator, standardized, split by a permutation, and learned from in batches.
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(42)
N, D = 400, 5
X = rng.normal(size=(N, D)).astype(np.float32)
w_true = rng.uniform(-2, 2, size=(D, 1)).astype(np.float32)
y = X @ w_true + 0.1 * rng.standard_normal((N, 1)).astype(np.float32)
print(X[:2], y[:3].ravel().round(3), w_true.T, X.dtype, y.shape)

idx = rng.permutation(N)
n_val = int(0.2 * N)
val_idx, train_idx = idx[:n_val], idx[n_val:]
mean, std = X[train_idx].mean(axis=0), X[train_idx].std(axis=0)
X = (X - mean) / (std + 1e-8)
print(mean, std, X[train_idx].mean(0).round(4) + 0.0, len(train_idx), sorted(val_idx)[:5])

train = TensorDataset(torch.from_numpy(X[train_idx]), torch.from_numpy(y[train_idx]))
loader = DataLoader(train, batch_size=64, shuffle=False)
torch.manual_seed(0)
model = torch.compile(nn.Linear(D, 1), backend="eager")
opt = torch.optim.SGD(model.parameters(), lr=0.1)
history = {"train": [], "val": []}
for epoch in range(8):
    losses = []
    for xb, yb in loader:
        loss = nn.functional.mse_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    with torch.no_grad():
        val = nn.functional.mse_loss(model(torch.as_tensor(X[val_idx])), torch.as_tensor(y[val_idx]))
    history["train"].append(np.mean(losses))
    history["val"].append(float(val))
    print(f"epoch {epoch}: train {np.mean(losses):.4f} +- {np.std(losses):.4f}, val {val:.4f}")
best = int(np.argmin(history["val"]))
print(best, np.array(history["train"]).round(4), type(history["train"][0]).__name__)
with torch.no_grad():
    pred = model(torch.from_numpy(X)).numpy()
ss_res, ss_tot = ((y - pred) ** 2).sum(), ((y - y.mean()) ** 2).sum()
print(f"R2 {1 - ss_res / ss_tot:.4f}", np.abs(y - pred).max().round(3))
