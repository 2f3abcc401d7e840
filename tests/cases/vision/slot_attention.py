import argparse

import torch
from torch import nn
from torch.nn import init


class SlotAttention(nn.Module):
    def __init__(self, num_slots, dim, iters=3, eps=1e-8, hidden_dim=128):
        super().__init__()
        self.dim = dim
        self.num_slots = num_slots
        self.iters = iters
        self.eps = eps
        self.scale = dim ** -0.5

        self.slots_mu = nn.Parameter(torch.randn(1, 1, dim))

        self.slots_logsigma = nn.Parameter(torch.zeros(1, 1, dim))
        init.xavier_uniform_(self.slots_logsigma)

        self.to_q = nn.Linear(dim, dim)
        self.to_k = nn.Linear(dim, dim)
        self.to_v = nn.Linear(dim, dim)

        self.gru = nn.GRUCell(dim, dim)

        hidden_dim = max(dim, hidden_dim)

        self.mlp = nn.Sequential(
            nn.Linear(dim, hidden_dim),
            nn.ReLU(inplace=True),
            nn.Linear(hidden_dim, dim)
        )

        self.norm_input = nn.LayerNorm(dim)
        self.norm_slots = nn.LayerNorm(dim)
        self.norm_pre_ff = nn.LayerNorm(dim)

    def forward(self, inputs, num_slots=None):
        b, n, d, device, dtype = *inputs.shape, inputs.device, inputs.dtype
        n_s = num_slots if num_slots is not None else self.num_slots

        mu = self.slots_mu.expand(b, n_s, -1)
        sigma = self.slots_logsigma.exp().expand(b, n_s, -1)

        slots = mu + sigma * torch.randn(mu.shape, device=device, dtype=dtype)

        inputs = self.norm_input(inputs)
        k, v = self.to_k(inputs), self.to_v(inputs)

        for _ in range(self.iters):
            slots_prev = slots

            slots = self.norm_slots(slots)
            q = self.to_q(slots)

            dots = torch.einsum('bid,bjd->bij', q, k) * self.scale
            attn = dots.softmax(dim=1) + self.eps
            attn = attn / attn.sum(dim=-1, keepdim=True)

            updates = torch.einsum('bjd,bij->bid', v, attn)

            slots = self.gru(
                updates.reshape(-1, d),
                slots_prev.reshape(-1, d)
            )

            slots = slots.reshape(b, -1, d)
            slots = slots + self.mlp(self.norm_pre_ff(slots))

        return slots


def build_grid(resolution):
    ranges = [torch.linspace(0., 1., steps=res) for res in resolution]
    grid = torch.meshgrid(*ranges, indexing="ij")
    grid = torch.stack(grid, dim=-1)
    grid = torch.reshape(grid, [resolution[0], resolution[1], -1])
    grid = grid.unsqueeze(0)
    return torch.cat([grid, 1.0 - grid], dim=-1)


class SoftPositionEmbed(nn.Module):
    def __init__(self, hidden_size, resolution):
        super().__init__()
        self.embedding = nn.Linear(4, hidden_size, bias=True)
        self.register_buffer("grid", build_grid(resolution))

    def forward(self, inputs):
        return inputs + self.embedding(self.grid)


class SlotAttentionAutoEncoder(nn.Module):
    def __init__(self, resolution, num_slots, num_iterations, hid_dim):
        super().__init__()
        self.hid_dim = hid_dim
        self.resolution = resolution
        self.num_slots = num_slots
        self.encoder_cnn = nn.Sequential(nn.Conv2d(3, hid_dim, 5, padding=2), nn.ReLU(), nn.Conv2d(hid_dim, hid_dim, 5, padding=2), nn.ReLU())
        self.encoder_pos = SoftPositionEmbed(hid_dim, resolution)
        self.decoder_initial_size = (4, 4)
        self.decoder_pos = SoftPositionEmbed(hid_dim, self.decoder_initial_size)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(hid_dim, hid_dim, 5, stride=(2, 2), padding=2, output_padding=1), nn.ReLU(),
            nn.ConvTranspose2d(hid_dim, 4, 3, stride=(1, 1), padding=1))
        self.fc1 = nn.Linear(hid_dim, hid_dim)
        self.fc2 = nn.Linear(hid_dim, hid_dim)
        self.slot_attention = SlotAttention(num_slots=num_slots, dim=hid_dim, iters=num_iterations, eps=1e-8, hidden_dim=32)

    def forward(self, image):
        x = self.encoder_cnn(image).permute(0, 2, 3, 1)
        x = self.encoder_pos(x)
        x = torch.flatten(x, 1, 2)
        x = nn.functional.layer_norm(x, x.shape[1:])
        x = self.fc2(torch.relu(self.fc1(x)))
        slots = self.slot_attention(x)
        slots = slots.reshape((-1, slots.shape[-1])).unsqueeze(1).unsqueeze(2)
        slots = slots.repeat((1, *self.decoder_initial_size, 1))
        x = self.decoder_pos(slots).permute(0, 3, 1, 2)
        x = self.decoder(x)
        x = x.reshape(image.shape[0], -1, *x.shape[1:])
        recons, masks = x.split([3, 1], dim=2)
        masks = nn.Softmax(dim=1)(masks)
        recon_combined = torch.sum(recons * masks, dim=1)
        return recon_combined, recons, masks, slots


parser = argparse.ArgumentParser()
parser.add_argument('--num_slots', default=3, type=int, help='Number of slots in Slot Attention.')
parser.add_argument('--num_iterations', default=2, type=int)
parser.add_argument('--hid_dim', default=16, type=int, help='hidden dimension size')
parser.add_argument('--learning_rate', default=0.004, type=float)
parser.add_argument('--warmup_steps', default=2, type=int)
parser.add_argument('--decay_rate', default=0.5, type=float)
parser.add_argument('--decay_steps', default=4, type=int)
opt = parser.parse_args([])
print(vars(opt))

torch.manual_seed(42)
model = SlotAttentionAutoEncoder((8, 8), opt.num_slots, opt.num_iterations, opt.hid_dim)
compiled = torch.compile(model, backend="aot_eager")
criterion = nn.MSELoss()
params = [{'params': model.parameters()}]
optimizer = torch.optim.Adam(params, lr=opt.learning_rate)
i = 0
images = torch.rand(2, 3, 8, 8)
for epoch in range(4):
    i += 1
    if i < opt.warmup_steps:
        learning_rate = opt.learning_rate * (i / opt.warmup_steps)
    else:
        learning_rate = opt.learning_rate
    learning_rate = learning_rate * (opt.decay_rate ** (i / opt.decay_steps))
    optimizer.param_groups[0]['lr'] = learning_rate
    recon_combined, recons, masks, slots = compiled(images)
    loss = criterion(recon_combined, images)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("Epoch: {}, Loss: {:.5f}, lr: {:.6f}".format(epoch, loss.item(), learning_rate))
print(recons.shape, masks.shape, slots.shape)
print(masks.sum(1).mean().item().__format__('.4f'))
