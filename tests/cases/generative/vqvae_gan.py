# VQ-VAE with EMA codebook, straight-through, perceptual-ish loss, two optimizers, closures, hooks on grads
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(2)
class VQ(nn.Module):
    def __init__(self, k, d, beta=0.25, decay=0.9, eps=1e-5):
        super().__init__(); self.k, self.d, self.beta, self.decay, self.eps = k, d, beta, decay, eps
        e = torch.randn(d, k); self.register_buffer("embed", e); self.register_buffer("n", torch.zeros(k)); self.register_buffer("avg", e.clone())
    def forward(self, x):
        flat = x.reshape(-1, self.d)
        dist = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ self.embed + self.embed.pow(2).sum(0, keepdim=True)
        _, ind = (-dist).max(1)
        one = F.one_hot(ind, self.k).type(flat.dtype); ind = ind.view(*x.shape[:-1]); q = F.embedding(ind, self.embed.transpose(0, 1))
        if self.training:
            self.n.data.mul_(self.decay).add_(one.sum(0), alpha=1 - self.decay); self.avg.data.mul_(self.decay).add_(flat.transpose(0, 1) @ one, alpha=1 - self.decay)
            n = self.n.sum(); size = (self.n + self.eps) / (n + self.k * self.eps) * n
            self.embed.data.copy_(self.avg / size.unsqueeze(0))
        diff = (q.detach() - x).pow(2).mean() * self.beta
        q = x + (q - x).detach()
        p = one.mean(0); perp = torch.exp(-torch.sum(p * torch.log(p + 1e-10)))
        return q, diff, ind, perp
class ResBlock(nn.Module):
    def __init__(self, c, h): super().__init__(); self.conv = nn.Sequential(nn.ReLU(), nn.Conv2d(c, h, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(h, c, 1))
    def forward(self, x): return self.conv(x).add_(x)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU(inplace=True), nn.Conv2d(8, 8, 3, padding=1), ResBlock(8, 4), nn.ReLU(inplace=True))
        self.pre, self.vq, self.post = nn.Conv2d(8, 4, 1), VQ(6, 4), nn.ConvTranspose2d(4, 8, 4, stride=2, padding=1)
        self.dec = nn.Sequential(ResBlock(8, 4), nn.ReLU(inplace=True), nn.Conv2d(8, 1, 3, padding=1), nn.Tanh())
    def forward(self, x):
        z = self.pre(self.enc(x)).permute(0, 2, 3, 1)
        q, diff, ind, perp = self.vq(z)
        return self.dec(self.post(q.permute(0, 3, 1, 2))), diff, perp
disc = nn.Sequential(nn.Conv2d(1, 4, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.utils.spectral_norm(nn.Conv2d(4, 1, 3)), nn.Flatten())
m = Model(); f = torch.compile(m); D = torch.compile(disc)
og, od = torch.optim.Adam(m.parameters(), 1e-3, betas=(0.5, 0.9)), torch.optim.RMSprop(disc.parameters(), 1e-3)
norms = []
m.pre.weight.register_hook(lambda g: norms.append(round(g.norm().item(), 4)))
for i in range(3):
    x = torch.rand(2, 1, 8, 8) * 2 - 1
    r, diff, perp = f(x); rec = F.l1_loss(r, x) + F.mse_loss(r, x)
    for p in disc.parameters(): p.requires_grad_(False)
    g = -D(r).mean(); last = m.dec[2].weight
    nw = torch.autograd.grad(rec, last, retain_graph=True)[0].norm() / (torch.autograd.grad(g, last, retain_graph=True)[0].norm() + 1e-4)
    loss = rec + diff + nw.clamp(0, 10).detach() * 0.1 * g
    og.zero_grad(); loss.backward(); og.step()
    for p in disc.parameters(): p.requires_grad_(True)
    d = F.relu(1 - D(x)).mean() + F.relu(1 + D(r.detach())).mean(); od.zero_grad(); d.backward(); od.step()
    print(i, f"{rec.item():.4f} {diff.item():.4f} {perp.item():.3f} {d.item():.4f}", len(norms))
m.eval(); print(f(torch.zeros(1, 1, 8, 8))[0].shape, {k: tuple(v.shape) for k, v in m.vq.state_dict().items()})
