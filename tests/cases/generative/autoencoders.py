"""Denoising, sparse, contractive, beta-VAE with annealing, and a conditional VAE on toy digits."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence


class Autoencoder(nn.Module):
    def __init__(self, d=16, h=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, 10), nn.ReLU(True), nn.Linear(10, h))
        self.decoder = nn.Sequential(nn.Linear(h, 10), nn.ReLU(True), nn.Linear(10, d), nn.Sigmoid())

    def forward(self, x):
        code = self.encoder(x)
        return self.decoder(code), code


class CVAE(nn.Module):
    def __init__(self, d=16, n_classes=3, latent=2):
        super().__init__()
        self.n_classes, self.latent = n_classes, latent
        self.fc1 = nn.Linear(d + n_classes, 12)
        self.fc_mu, self.fc_logvar = nn.Linear(12, latent), nn.Linear(12, latent)
        self.fc3 = nn.Linear(latent + n_classes, 12)
        self.fc4 = nn.Linear(12, d)

    def encode(self, x, c):
        h = F.elu(self.fc1(torch.cat([x, c], 1)))
        return self.fc_mu(h), self.fc_logvar(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z, c):
        h = F.elu(self.fc3(torch.cat([z, c], 1)))
        return torch.sigmoid(self.fc4(h))

    def forward(self, x, c):
        mu, logvar = self.encode(x, c)
        z = self.reparameterize(mu, logvar)
        return self.decode(z, c), mu, logvar


def sparsity(code, rho=0.1):
    rho_hat = torch.sigmoid(code).mean(0)
    return (rho * torch.log(rho / rho_hat) + (1 - rho) * torch.log((1 - rho) / (1 - rho_hat))).sum()


def loss_function(recon_x, x, mu, logvar, beta):
    BCE = F.binary_cross_entropy(recon_x, x, reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + beta * KLD, BCE, KLD


torch.manual_seed(0)
x = (torch.rand(8, 16) > 0.5).float()
ae = Autoencoder()
net = torch.compile(ae)
opt = torch.optim.Adam(ae.parameters(), lr=1e-2)
for epoch in range(3):
    noisy = x * torch.bernoulli(torch.full_like(x, 0.8))
    out, code = net(noisy)
    loss = F.mse_loss(out, x) + 1e-2 * sparsity(code)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"denoising {epoch} {loss.item():.4f} code {code.abs().mean():.4f}")
xg = x.clone().requires_grad_(True)
code = ae.encoder(xg)
jac = torch.stack([torch.autograd.grad(code[:, i].sum(), xg, retain_graph=True)[0] for i in range(code.shape[1])], 1)
print("contractive", jac.shape, f"{jac.pow(2).sum((1, 2)).mean():.4f}")

cvae = CVAE()
c = F.one_hot(torch.arange(8) % 3, 3).float()
step = torch.compile(cvae, fullgraph=True)
opt = torch.optim.Adam(cvae.parameters(), lr=1e-2)
for epoch in range(4):
    beta = min(1.0, epoch / 2)
    recon, mu, logvar = step(x, c)
    loss, bce, kld = loss_function(recon, x, mu, logvar, beta)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("====> Epoch: {} beta {:.1f} loss: {:.3f} bce {:.3f} kld {:.3f}".format(epoch, beta, loss.item() / 8, bce.item() / 8, kld.item() / 8))
with torch.no_grad():
    q = Normal(mu, torch.exp(0.5 * logvar))
    print("kl agrees", torch.allclose(kl_divergence(q, Normal(0.0, 1.0)).sum(), kld, rtol=1e-4))
    sample = cvae.decode(torch.randn(2, 2), c[:2])
    print(sample.shape, (sample > 0.5).int().sum(1).shape)
