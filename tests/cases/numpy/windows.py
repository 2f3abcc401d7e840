# A time series cut into windows, scaled, split in time, and forecast by a recurrent network.
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series, length, horizon):
        n = len(series) - length - horizon + 1
        index = np.arange(length)[None, :] + np.arange(n)[:, None]
        self.x = series[index].astype(np.float32)[..., None]
        self.y = series[np.arange(n) + length + horizon - 1].astype(np.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


np.random.seed(4)
t = np.arange(0, 30, 0.1)
series = np.sin(t) + 0.5 * np.sin(3 * t + 1) + np.random.normal(0, 0.05, len(t))
print(t[:4], t[-1], series[:4], len(t))
cut = int(len(series) * 0.8)
low, high = series[:cut].min(), series[:cut].max()
scaled = 2 * (series - low) / (high - low) - 1
train, test = Windows(scaled[:cut], 12, 1), Windows(scaled[cut - 12 :], 12, 1)
print(len(train), len(test), train.x.shape, train.y[:3], scaled[:cut].min(), scaled[:cut].max())
missing = scaled.copy()
missing[np.random.choice(len(scaled), 10, replace=False)] = np.nan
known = np.flatnonzero(~np.isnan(missing))
filled = np.interp(np.arange(len(missing)), known, missing[known])
print(np.isnan(missing).sum(), np.nanmean(missing).round(4), np.abs(filled - scaled).max() < 0.3)


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 8, batch_first=True)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1]).squeeze(-1)


torch.manual_seed(0)
model = Forecast()
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(3):
    total = 0.0
    for xb, yb in DataLoader(train, batch_size=32):
        loss = nn.functional.mse_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
    print(f"epoch {epoch}: {total / len(train):.4f}")
with torch.no_grad():
    predictions = np.concatenate([model(xb).numpy() for xb, _ in DataLoader(test, batch_size=16)])
errors = predictions - test.y
print(f"MAE {np.abs(errors).mean():.4f} RMSE {np.sqrt(np.mean(errors**2)):.4f}", predictions.shape, predictions.dtype)
hits = np.sign(np.diff(predictions)) == np.sign(np.diff(test.y))
print(hits.mean().round(2), np.roll(test.y, 1)[:2], np.tile(test.y[:2], 2), np.split(test.y[:6], 3)[1])
