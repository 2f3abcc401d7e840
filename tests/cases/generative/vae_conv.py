import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


class VAE(nn.Module):
    def __init__(self, latent=3):
        super(VAE, self).__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 4, 4, 2, 1), nn.BatchNorm2d(4), nn.LeakyReLU(0.2), nn.Conv2d(4, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten())
        self.fc_mu = nn.Linear(8 * 2 * 2, latent)
        self.fc_logvar = nn.Linear(8 * 2 * 2, latent)
        self.dec_in = nn.Linear(latent, 8 * 2 * 2)
        self.dec = nn.Sequential(nn.Unflatten(1, (8, 2, 2)), nn.ConvTranspose2d(8, 4, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(4, 1, 4, 2, 1), nn.Sigmoid())

    def encode(self, x):
        h = self.enc(x)
        return self.fc_mu(h), self.fc_logvar(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        return self.dec(self.dec_in(z))

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar, beta=0.5):
    BCE = F.binary_cross_entropy(recon_x, x, reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + beta * KLD, BCE, KLD


torch.manual_seed(1)
data = torch.rand(10, 1, 8, 8)
dataset = TensorDataset(data, torch.arange(10))
train_set, val_set = random_split(dataset, [8, 2], generator=torch.Generator().manual_seed(42))
print(len(train_set), val_set.indices)
train_loader = DataLoader(train_set, batch_size=4, shuffle=True, drop_last=True)
val_loader = DataLoader(val_set, batch_size=2)
model = VAE()
compiled = torch.compile(model)
optimizer = optim.Adam(model.parameters(), lr=1e-2)
scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, "min", factor=0.5, patience=0)
for epoch in range(1, 3):
    model.train()
    train_loss = 0
    for batch_idx, (x, label) in enumerate(train_loader):
        optimizer.zero_grad()
        recon, mu, logvar = compiled(x)
        loss, bce, kld = loss_function(recon, x, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
        print("Train Epoch: {} [{}/{} ({:.0f}%)]\tLoss: {:.6f}".format(epoch, batch_idx * len(x), len(train_loader.dataset), 100. * batch_idx / len(train_loader), loss.item() / len(x)), label.tolist())
    model.eval()
    with torch.no_grad():
        val = sum(loss_function(*([r for r in [model(x)[0]]] + [x] + list(model.encode(x))))[0].item() for x, _ in val_loader)
    scheduler.step(val)
    print("====> Epoch: {} Average loss: {:.4f} val {:.2f} lr {}".format(epoch, train_loss / len(train_loader.dataset), val, optimizer.param_groups[0]["lr"]))
sample = torch.randn(2, 3)
print(model.decode(sample).shape)
