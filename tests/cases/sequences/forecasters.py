"""N-BEATS, DLinear, PatchTST with RevIN and an Autoformer-like autocorrelation block on one toy series."""
import math
import time
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class EarlyStopping:
    def __init__(self, patience=2, verbose=False, delta=0.0):
        self.patience, self.verbose, self.delta = patience, verbose, delta
        self.counter, self.best_score, self.early_stop = 0, None, False
        self.val_loss_min = float('inf')

    def __call__(self, val_loss, model):
        score = -val_loss
        if self.best_score is None or score >= self.best_score + self.delta:
            if self.verbose:
                print(f'Validation loss decreased ({self.val_loss_min:.4f} --> {val_loss:.4f}).  Saving model ...')
            self.best_score, self.val_loss_min, self.counter = score, val_loss, 0
            self.state = {k: v.clone() for k, v in model.state_dict().items()}
        else:
            self.counter += 1
            print(f'EarlyStopping counter: {self.counter} out of {self.patience}')
            self.early_stop = self.counter >= self.patience


class Series(Dataset):
    def __init__(self, data, seq_len, pred_len):
        self.data, self.seq_len, self.pred_len = data, seq_len, pred_len

    def __getitem__(self, i):
        return self.data[i:i + self.seq_len], self.data[i + self.seq_len:i + self.seq_len + self.pred_len]

    def __len__(self):
        return len(self.data) - self.seq_len - self.pred_len + 1


class RevIN(nn.Module):
    def __init__(self, num_features, eps=1e-5, affine=True):
        super().__init__()
        self.eps, self.affine = eps, affine
        if affine:
            self.affine_weight = nn.Parameter(torch.ones(num_features))
            self.affine_bias = nn.Parameter(torch.zeros(num_features))

    def forward(self, x, mode: str):
        if mode == 'norm':
            self.mean = torch.mean(x, dim=1, keepdim=True).detach()
            self.stdev = torch.sqrt(torch.var(x, dim=1, keepdim=True, unbiased=False) + self.eps).detach()
            x = (x - self.mean) / self.stdev
            return x * self.affine_weight + self.affine_bias if self.affine else x
        elif mode == 'denorm':
            if self.affine:
                x = (x - self.affine_bias) / (self.affine_weight + self.eps * self.eps)
            return x * self.stdev + self.mean
        raise NotImplementedError


class MovingAvg(nn.Module):
    def __init__(self, kernel_size):
        super().__init__()
        self.kernel_size = kernel_size
        self.avg = nn.AvgPool1d(kernel_size=kernel_size, stride=1, padding=0)

    def forward(self, x):
        front = x[:, 0:1, :].repeat(1, (self.kernel_size - 1) // 2, 1)
        end = x[:, -1:, :].repeat(1, (self.kernel_size - 1) // 2, 1)
        return self.avg(torch.cat([front, x, end], dim=1).permute(0, 2, 1)).permute(0, 2, 1)


class DLinear(nn.Module):
    def __init__(self, seq_len, pred_len, channels):
        super().__init__()
        self.ma = MovingAvg(5)
        self.seasonal = nn.ModuleList([nn.Linear(seq_len, pred_len) for _ in range(channels)])
        self.trend = nn.Linear(seq_len, pred_len)
        self.trend.weight = nn.Parameter((1 / seq_len) * torch.ones([pred_len, seq_len]))
        self.pred_len, self.channels = pred_len, channels

    def forward(self, x):
        trend = self.ma(x)
        res, trend = (x - trend).permute(0, 2, 1), trend.permute(0, 2, 1)
        out = torch.zeros([res.size(0), res.size(1), self.pred_len], dtype=res.dtype).to(res.device)
        for i in range(self.channels):
            out[:, i, :] = self.seasonal[i](res[:, i, :])
        return (out + self.trend(trend)).permute(0, 2, 1)


class NBeats(nn.Module):
    def __init__(self, seq_len, pred_len, hidden=16, stacks=("trend", "seasonality", "generic")):
        super().__init__()
        self.pred_len = pred_len
        self.blocks = nn.ModuleList()
        self.kinds = list(stacks)
        for kind in stacks:
            theta = {"trend": 3, "seasonality": 4, "generic": 5}[kind]
            self.blocks.append(nn.ModuleDict({
                "fc": nn.Sequential(nn.Linear(seq_len, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()),
                "theta_b": nn.Linear(hidden, theta, bias=False), "theta_f": nn.Linear(hidden, theta, bias=False)}))
        self.gb, self.gf = nn.Linear(5, seq_len), nn.Linear(5, pred_len)
        t_b, t_f = torch.arange(seq_len) / seq_len, torch.arange(pred_len) / pred_len
        self.register_buffer("tb", torch.stack([t_b ** i for i in range(3)]))
        self.register_buffer("tf", torch.stack([t_f ** i for i in range(3)]))
        s = lambda t: torch.cat([torch.stack([torch.cos(2 * math.pi * i * t) for i in range(2)]), torch.stack([torch.sin(2 * math.pi * i * t) for i in range(2)])])
        self.register_buffer("sb", s(t_b))
        self.register_buffer("sf", s(t_f))

    def forward(self, x):
        x = x.mT
        forecast = torch.zeros(*x.shape[:2], self.pred_len)
        for kind, block in zip(self.kinds, self.blocks):
            h = block["fc"](x)
            b, f = block["theta_b"](h), block["theta_f"](h)
            if kind == "trend":
                back, fore = b.matmul(self.tb), f.matmul(self.tf)
            elif kind == "seasonality":
                back, fore = b @ self.sb, f @ self.sf
            else:
                back, fore = self.gb(b), self.gf(f)
            x = x - back
            forecast = forecast + fore
        return forecast.mT


class PatchTST(nn.Module):
    def __init__(self, seq_len, pred_len, channels, patch=4, stride=2, d=16):
        super().__init__()
        self.revin = RevIN(channels)
        self.pad = nn.ReplicationPad1d((0, stride))
        self.patch, self.stride = patch, stride
        n = (seq_len - patch) // stride + 2
        self.embed = nn.Linear(patch, d)
        self.pos = nn.Parameter(torch.empty(n, d).uniform_(-0.02, 0.02))
        layer = nn.TransformerEncoderLayer(d, 2, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.Flatten(start_dim=-2), nn.Linear(n * d, pred_len))

    def forward(self, x):
        z = self.revin(x, 'norm').permute(0, 2, 1)
        z = self.pad(z).unfold(dimension=-1, size=self.patch, step=self.stride)
        b, c = z.shape[:2]
        z = self.encoder(self.embed(z).flatten(0, 1) + self.pos).unflatten(0, (b, c))
        return self.revin(self.head(z).permute(0, 2, 1), 'denorm')


class AutoCorrelation(nn.Module):
    def __init__(self, seq_len, pred_len, channels, d=8, factor=1):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(channels if i < 3 else d, d if i < 3 else channels) for i in range(4))
        self.proj = nn.Linear(seq_len, pred_len)
        self.factor = factor

    def forward(self, x):
        q, k, v = self.q(x).mT, self.k(x).mT, self.v(x).mT
        corr = torch.fft.irfft(torch.fft.rfft(q.contiguous(), dim=-1) * torch.conj(torch.fft.rfft(k.contiguous(), dim=-1)), dim=-1)
        L = corr.shape[-1]
        top_k = int(self.factor * math.log(L))
        mean = corr.mean(1)
        weights, delay = torch.topk(mean, top_k, dim=-1)
        w = torch.softmax(weights, dim=-1)
        vv = v.repeat(1, 1, 2)
        init = torch.arange(L).expand_as(v)
        agg = torch.zeros_like(v)
        for i in range(top_k):
            pattern = torch.gather(vv, dim=-1, index=init + delay[:, i, None, None])
            agg = agg + pattern * w[:, i, None, None]
        return self.proj(self.o(agg.mT).mT).mT


torch.manual_seed(2021)
t = torch.arange(48, dtype=torch.float32)
series = torch.stack([torch.sin(t / 3) + 0.02 * t, torch.cos(t / 5) * 2], -1) + 0.05 * torch.randn(48, 2)
train, val = Series(series[:36], 12, 4), Series(series[24:], 12, 4)
for cls in (DLinear, NBeats, PatchTST, AutoCorrelation):
    torch.manual_seed(1)
    model = cls(12, 4) if cls is NBeats else cls(12, 4, 2)
    run = torch.compile(model, backend="aot_eager")
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    stopper = EarlyStopping(patience=1, verbose=cls is DLinear)
    start = time.time()
    for epoch in range(3):
        model.train()
        total = []
        for bx, by in DataLoader(train, batch_size=8, shuffle=True, drop_last=True):
            opt.zero_grad()
            loss = F.huber_loss(run(bx), by)
            total.append(loss.item())
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            vl = sum(F.l1_loss(model(bx), by).item() for bx, by in DataLoader(val, batch_size=9)) / 1
        print(f"{cls.__name__} Epoch: {epoch + 1} | Train Loss: {sum(total) / len(total):.4f} Vali Loss: {vl:.4f}")
        stopper(vl, model)
        if stopper.early_stop:
            print("Early stopping")
            break
        for g in opt.param_groups:
            g['lr'] *= 0.5 ** epoch
    model.load_state_dict(stopper.state)
    assert time.time() >= start
