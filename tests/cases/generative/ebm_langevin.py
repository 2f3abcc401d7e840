"""An energy-based model with a replay buffer and Langevin dynamics, a Hopfield network, and an RBM."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim

torch.manual_seed(42)
random.seed(42)


class Swish(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)


class CNNModel(nn.Module):
    def __init__(self, hidden_features=8, out_dim=1, **kwargs):
        super().__init__()
        c_hid1 = hidden_features // 2
        c_hid2 = hidden_features
        self.cnn_layers = nn.Sequential(
            nn.Conv2d(1, c_hid1, kernel_size=5, stride=2, padding=4),
            Swish(),
            nn.Conv2d(c_hid1, c_hid2, kernel_size=3, stride=2, padding=1),
            Swish(),
            nn.Flatten(),
            nn.Linear(c_hid2 * 9, c_hid2),
            Swish(),
            nn.Linear(c_hid2, out_dim),
        )

    def forward(self, x):
        return self.cnn_layers(x).squeeze(dim=-1)


class Sampler:
    def __init__(self, model, img_shape, sample_size, max_len=64):
        self.model = model
        self.img_shape = img_shape
        self.sample_size = sample_size
        self.max_len = max_len
        self.examples = [(torch.rand((1,) + img_shape) * 2 - 1) for _ in range(self.sample_size)]

    def sample_new_exmps(self, steps=60, step_size=10):
        n_new = sum(random.random() < 0.05 for _ in range(self.sample_size))
        rand_imgs = torch.rand((n_new,) + self.img_shape) * 2 - 1
        old_imgs = torch.cat(random.choices(self.examples, k=self.sample_size - n_new), dim=0)
        inp_imgs = torch.cat([rand_imgs, old_imgs], dim=0).detach()
        inp_imgs = Sampler.generate_samples(self.model, inp_imgs, steps=steps, step_size=step_size)
        self.examples = list(inp_imgs.to(torch.device("cpu")).chunk(self.sample_size, dim=0)) + self.examples
        self.examples = self.examples[: self.max_len]
        return inp_imgs

    @staticmethod
    def generate_samples(model, inp_imgs, steps=60, step_size=10, return_img_per_step=False):
        is_training = model.training
        model.eval()
        for p in model.parameters():
            p.requires_grad = False
        inp_imgs.requires_grad = True
        had_gradients_enabled = torch.is_grad_enabled()
        torch.set_grad_enabled(True)
        noise = torch.randn(inp_imgs.shape, device=inp_imgs.device)
        imgs_per_step = []
        for _ in range(steps):
            noise.normal_(0, 0.005)
            inp_imgs.data.add_(noise.data)
            inp_imgs.data.clamp_(min=-1.0, max=1.0)
            out_imgs = -model(inp_imgs)
            out_imgs.sum().backward()
            inp_imgs.grad.data.clamp_(-0.03, 0.03)
            inp_imgs.data.add_(-step_size * inp_imgs.grad.data)
            inp_imgs.grad.detach_()
            inp_imgs.grad.zero_()
            inp_imgs.data.clamp_(min=-1.0, max=1.0)
            if return_img_per_step:
                imgs_per_step.append(inp_imgs.clone().detach())
        for p in model.parameters():
            p.requires_grad = True
        model.train(is_training)
        torch.set_grad_enabled(had_gradients_enabled)
        if return_img_per_step:
            return torch.stack(imgs_per_step, dim=0)
        return inp_imgs


cnn = CNNModel()
compiled = torch.compile(cnn)
sampler = Sampler(cnn, img_shape=(1, 8, 8), sample_size=4)
optimizer = optim.Adam(cnn.parameters(), lr=1e-3, betas=(0.0, 0.999))
scheduler = optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.97)
real = (torch.rand(4, 1, 8, 8) > 0.5).float() * 2 - 1
for it in range(3):
    real_imgs = real + torch.randn_like(real) * 0.005
    real_imgs.clamp_(min=-1.0, max=1.0)
    fake_imgs = sampler.sample_new_exmps(steps=4, step_size=10)
    inp_imgs = torch.cat([real_imgs, fake_imgs.detach()], dim=0)
    real_out, fake_out = compiled(inp_imgs).chunk(2, dim=0)
    reg_loss = 0.1 * (real_out ** 2 + fake_out ** 2).mean()
    cdiv_loss = fake_out.mean() - real_out.mean()
    loss = reg_loss + cdiv_loss
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(cnn.parameters(), 0.1)
    optimizer.step()
    scheduler.step()
    print(f"loss {loss.item():.5f} reg {reg_loss.item():.5f} cd {cdiv_loss.item():.5f} buffer {len(sampler.examples)}")
traj = Sampler.generate_samples(cnn, torch.rand(2, 1, 8, 8), steps=3, return_img_per_step=True)
print(traj.shape, f"{traj[-1].mean():.4f}")


class RBM(nn.Module):
    def __init__(self, n_vis=16, n_hin=8, k=2):
        super(RBM, self).__init__()
        self.W = nn.Parameter(torch.randn(n_hin, n_vis) * 1e-1)
        self.v_bias = nn.Parameter(torch.zeros(n_vis))
        self.h_bias = nn.Parameter(torch.zeros(n_hin))
        self.k = k

    def sample_from_p(self, p):
        return F.relu(torch.sign(p - torch.rand(p.size())))

    def v_to_h(self, v):
        p_h = torch.sigmoid(F.linear(v, self.W, self.h_bias))
        return p_h, self.sample_from_p(p_h)

    def h_to_v(self, h):
        p_v = torch.sigmoid(F.linear(h, self.W.t(), self.v_bias))
        return p_v, self.sample_from_p(p_v)

    def forward(self, v):
        pre_h1, h1 = self.v_to_h(v)
        h_ = h1
        for _ in range(self.k):
            pre_v_, v_ = self.h_to_v(h_)
            pre_h_, h_ = self.v_to_h(v_)
        return v, v_

    def free_energy(self, v):
        vbias_term = v.mv(self.v_bias)
        wx_b = F.linear(v, self.W, self.h_bias)
        hidden_term = wx_b.exp().add(1).log().sum(1)
        return (-hidden_term - vbias_term).mean()


rbm = RBM()
train_op = optim.SGD(rbm.parameters(), 0.1)
gibbs = torch.compile(rbm)
data = torch.rand(6, 16)
for epoch in range(3):
    sample_data = data.bernoulli()
    v, v1 = gibbs(sample_data)
    loss = rbm.free_energy(v) - rbm.free_energy(v1)
    train_op.zero_grad()
    loss.backward()
    train_op.step()
    print(f"Training loss for {epoch} epoch: {loss.item():.4f}")

patterns = torch.randn(3, 16).sign()
weights = (patterns.T @ patterns).fill_diagonal_(0) / 16
state = patterns[0].clone()
state[torch.randperm(16)[:3]] *= -1
energies = []
for _ in range(3):
    energies.append(round(-0.5 * (state @ weights @ state).item(), 4))
    state = torch.where(weights @ state >= 0, 1.0, -1.0)
print(energies, torch.equal(state, patterns[0]), (state == patterns[0]).sum().item())
