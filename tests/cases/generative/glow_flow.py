"""Glow on tiny images: actnorm, invertible 1x1 convolution (LU), affine coupling, squeeze and split; plus a neural spline flow layer."""
from math import log, pi, exp
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
logabs = lambda x: torch.log(torch.abs(x))


class ActNorm(nn.Module):
    def __init__(self, in_channel, logdet=True):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(1, in_channel, 1, 1))
        self.scale = nn.Parameter(torch.ones(1, in_channel, 1, 1))
        self.register_buffer("initialized", torch.tensor(0, dtype=torch.uint8))
        self.logdet = logdet

    def initialize(self, input):
        with torch.no_grad():
            flatten = input.permute(1, 0, 2, 3).contiguous().view(input.shape[1], -1)
            mean = flatten.mean(1).unsqueeze(1).unsqueeze(2).unsqueeze(3).permute(1, 0, 2, 3)
            std = flatten.std(1).unsqueeze(1).unsqueeze(2).unsqueeze(3).permute(1, 0, 2, 3)
            self.loc.data.copy_(-mean)
            self.scale.data.copy_(1 / (std + 1e-6))

    def forward(self, input):
        _, _, height, width = input.shape
        if self.initialized.item() == 0:
            self.initialize(input)
            self.initialized.fill_(1)
        logdet = height * width * torch.sum(logabs(self.scale))
        if self.logdet:
            return self.scale * (input + self.loc), logdet
        return self.scale * (input + self.loc)

    def reverse(self, output):
        return output / self.scale - self.loc


class InvConv2dLU(nn.Module):
    def __init__(self, in_channel):
        super().__init__()
        weight = torch.randn(in_channel, in_channel)
        q, _ = torch.linalg.qr(weight)
        w_p, w_l, w_u = torch.linalg.lu(q)
        w_s = torch.diag(w_u)
        w_u = torch.triu(w_u, 1)
        u_mask = torch.triu(torch.ones_like(w_u), 1)
        l_mask = u_mask.T
        self.register_buffer("w_p", w_p)
        self.register_buffer("u_mask", u_mask)
        self.register_buffer("l_mask", l_mask)
        self.register_buffer("s_sign", torch.sign(w_s))
        self.register_buffer("l_eye", torch.eye(l_mask.shape[0]))
        self.w_l, self.w_s, self.w_u = nn.Parameter(w_l), nn.Parameter(logabs(w_s)), nn.Parameter(w_u)

    def calc_weight(self):
        weight = self.w_p @ (self.w_l * self.l_mask + self.l_eye) @ ((self.w_u * self.u_mask) + torch.diag(self.s_sign * torch.exp(self.w_s)))
        return weight.unsqueeze(2).unsqueeze(3)

    def forward(self, input):
        _, _, height, width = input.shape
        return F.conv2d(input, self.calc_weight()), height * width * torch.sum(self.w_s)

    def reverse(self, output):
        return F.conv2d(output, self.calc_weight().squeeze().inverse().unsqueeze(2).unsqueeze(3))


class ZeroConv2d(nn.Module):
    def __init__(self, in_channel, out_channel):
        super().__init__()
        self.conv = nn.Conv2d(in_channel, out_channel, 3, padding=0)
        self.conv.weight.data.zero_()
        self.conv.bias.data.zero_()
        self.scale = nn.Parameter(torch.zeros(1, out_channel, 1, 1))

    def forward(self, input):
        out = F.pad(input, [1, 1, 1, 1], value=1)
        return self.conv(out) * torch.exp(self.scale * 3)


class AffineCoupling(nn.Module):
    def __init__(self, in_channel, filter_size=16):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(in_channel // 2, filter_size, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(filter_size, filter_size, 1), nn.ReLU(inplace=True), ZeroConv2d(filter_size, in_channel))
        self.net[0].weight.data.normal_(0, 0.05)
        self.net[0].bias.data.zero_()

    def forward(self, input):
        in_a, in_b = input.chunk(2, 1)
        log_s, t = self.net(in_a).chunk(2, 1)
        s = F.sigmoid(log_s + 2)
        out_b = (in_b + t) * s
        return torch.cat([in_a, out_b], 1), torch.sum(torch.log(s).view(input.shape[0], -1), 1)

    def reverse(self, output):
        out_a, out_b = output.chunk(2, 1)
        log_s, t = self.net(out_a).chunk(2, 1)
        return torch.cat([out_a, out_b / F.sigmoid(log_s + 2) - t], 1)


class Flow(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.actnorm, self.invconv, self.coupling = ActNorm(c), InvConv2dLU(c), AffineCoupling(c)

    def forward(self, input):
        out, logdet = self.actnorm(input)
        out, det1 = self.invconv(out)
        out, det2 = self.coupling(out)
        logdet = logdet + det1
        if det2 is not None:
            logdet = logdet + det2
        return out, logdet

    def reverse(self, output):
        return self.actnorm.reverse(self.invconv.reverse(self.coupling.reverse(output)))


def gaussian_log_p(x, mean, log_sd):
    return -0.5 * log(2 * pi) - log_sd - 0.5 * (x - mean) ** 2 / torch.exp(2 * log_sd)


class Block(nn.Module):
    def __init__(self, in_channel, n_flow, split=True):
        super().__init__()
        squeeze_dim = in_channel * 4
        self.flows = nn.ModuleList([Flow(squeeze_dim) for _ in range(n_flow)])
        self.split = split
        self.prior = ZeroConv2d(in_channel * 2 if split else in_channel * 4, in_channel * (4 if split else 8))

    def forward(self, input):
        b_size, n_channel, height, width = input.shape
        squeezed = input.view(b_size, n_channel, height // 2, 2, width // 2, 2).permute(0, 1, 3, 5, 2, 4)
        out = squeezed.contiguous().view(b_size, n_channel * 4, height // 2, width // 2)
        logdet = 0
        for flow in self.flows:
            out, det = flow(out)
            logdet = logdet + det
        if self.split:
            out, z_new = out.chunk(2, 1)
            mean, log_sd = self.prior(out).chunk(2, 1)
            log_p = gaussian_log_p(z_new, mean, log_sd)
        else:
            mean, log_sd = self.prior(torch.zeros_like(out)).chunk(2, 1)
            log_p = gaussian_log_p(out, mean, log_sd)
            z_new = out
        return out, logdet, log_p.view(b_size, -1).sum(1), z_new

    def reverse(self, output, eps=None, reconstruct=False):
        input = output
        if reconstruct:
            input = torch.cat([output, eps], 1) if self.split else eps
        for flow in self.flows[::-1]:
            input = flow.reverse(input)
        b_size, n_channel, height, width = input.shape
        return input.view(b_size, n_channel // 4, 2, 2, height, width).permute(0, 1, 4, 2, 5, 3).contiguous().view(b_size, n_channel // 4, height * 2, width * 2)


class Glow(nn.Module):
    def __init__(self, in_channel=1, n_flow=2, n_block=2):
        super().__init__()
        self.blocks = nn.ModuleList()
        n_channel = in_channel
        for i in range(n_block - 1):
            self.blocks.append(Block(n_channel, n_flow))
            n_channel *= 2
        self.blocks.append(Block(n_channel, n_flow, split=False))

    def forward(self, input):
        log_p_sum, logdet, out, z_outs = 0, 0, input, []
        for block in self.blocks:
            out, det, log_p, z_new = block(out)
            z_outs.append(z_new)
            logdet = logdet + det
            if log_p is not None:
                log_p_sum = log_p_sum + log_p
        return log_p_sum, logdet, z_outs

    def reverse(self, z_list):
        for i, block in enumerate(self.blocks[::-1]):
            input = block.reverse(z_list[-1] if i == 0 else input, z_list[-(i + 1)], reconstruct=True)
        return input


def rational_quadratic(inputs, widths, heights, derivs, inverse=False, bound=2.0, eps=1e-3):
    K = widths.shape[-1]
    widths = eps + (1 - eps * K) * F.softmax(widths, -1)
    heights = eps + (1 - eps * K) * F.softmax(heights, -1)
    cw = F.pad(2 * bound * widths.cumsum(-1), (1, 0)) - bound
    ch = F.pad(2 * bound * heights.cumsum(-1), (1, 0)) - bound
    d = eps + F.softplus(F.pad(derivs, (1, 1), value=log(exp(1 - eps) - 1)))
    edges = ch if inverse else cw
    idx = torch.searchsorted(edges[..., 1:-1].contiguous(), inputs[..., None].contiguous())
    pick = lambda t: t.gather(-1, idx)[..., 0]
    x0, y0, w, h = pick(cw[..., :-1]), pick(ch[..., :-1]), pick(cw.diff(dim=-1)), pick(ch.diff(dim=-1))
    d0, d1 = pick(d[..., :-1]), pick(d[..., 1:])
    s = h / w
    if not inverse:
        xi = (inputs - x0) / w
        num = h * (s * xi ** 2 + d0 * xi * (1 - xi))
        den = s + (d1 + d0 - 2 * s) * xi * (1 - xi)
        out = y0 + num / den
        logdet = torch.log(s ** 2 * (d1 * xi ** 2 + 2 * s * xi * (1 - xi) + d0 * (1 - xi) ** 2)) - 2 * torch.log(den)
        return out, logdet
    a = (inputs - y0) * (d0 + d1 - 2 * s) + h * (s - d0)
    b = h * d0 - (inputs - y0) * (d0 + d1 - 2 * s)
    c = -s * (inputs - y0)
    xi = 2 * c / (-b - torch.sqrt(b.pow(2) - 4 * a * c))
    return xi * w + x0, None


model = Glow()
images = torch.rand(4, 1, 8, 8)
with torch.no_grad():
    model(images)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
compiled = torch.compile(model)
for i in range(4):
    x = images + torch.rand_like(images) / 32
    log_p, logdet, z = compiled(x)
    loss = -(log_p + logdet.mean()).mean() / (log(2) * 64)
    model.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"Loss: {loss.item():.5f}; logP: {log_p.mean().item():.5f}; logdet: {logdet.mean().item():.5f}")
with torch.no_grad():
    rec = model.reverse(model(images)[2])
print("reconstruction", torch.allclose(rec, images, atol=1e-4), [tuple(t.shape) for t in z])
x = torch.linspace(-1.9, 1.9, 7)
w, h, dv = torch.randn(7, 5), torch.randn(7, 5), torch.randn(7, 4)
y, ld = rational_quadratic(x, w, h, dv)
back, _ = rational_quadratic(y, w, h, dv, inverse=True)
print(y, ld.sum(), torch.allclose(back, x, atol=1e-4))
