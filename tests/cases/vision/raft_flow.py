"""Optical flow in the manner of RAFT: correlation pyramid, ConvGRU updates, convex upsampling, warping."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import OneCycleLR

torch.manual_seed(0)


def coords_grid(batch, ht, wd):
    coords = torch.meshgrid(torch.arange(ht), torch.arange(wd), indexing="ij")
    coords = torch.stack(coords[::-1], dim=0).float()
    return coords[None].repeat(batch, 1, 1, 1)


def bilinear_sampler(img, coords, mode="bilinear", mask=False):
    H, W = img.shape[-2:]
    xgrid, ygrid = coords.split([1, 1], dim=-1)
    xgrid = 2 * xgrid / (W - 1) - 1
    ygrid = 2 * ygrid / (H - 1) - 1
    grid = torch.cat([xgrid, ygrid], dim=-1)
    img = F.grid_sample(img, grid, align_corners=True)
    if mask:
        mask = (xgrid > -1) & (ygrid > -1) & (xgrid < 1) & (ygrid < 1)
        return img, mask.float()
    return img


class CorrBlock:
    def __init__(self, fmap1, fmap2, num_levels=2, radius=1):
        self.num_levels, self.radius = num_levels, radius
        self.corr_pyramid = []
        corr = CorrBlock.corr(fmap1, fmap2)
        batch, h1, w1, dim, h2, w2 = corr.shape
        corr = corr.reshape(batch * h1 * w1, dim, h2, w2)
        self.corr_pyramid.append(corr)
        for i in range(self.num_levels - 1):
            corr = F.avg_pool2d(corr, 2, stride=2)
            self.corr_pyramid.append(corr)

    def __call__(self, coords):
        r = self.radius
        coords = coords.permute(0, 2, 3, 1)
        batch, h1, w1, _ = coords.shape
        out_pyramid = []
        for i in range(self.num_levels):
            corr = self.corr_pyramid[i]
            dx = torch.linspace(-r, r, 2 * r + 1, device=coords.device)
            dy = torch.linspace(-r, r, 2 * r + 1, device=coords.device)
            delta = torch.stack(torch.meshgrid(dy, dx, indexing="ij"), axis=-1)
            centroid_lvl = coords.reshape(batch * h1 * w1, 1, 1, 2) / 2 ** i
            delta_lvl = delta.view(1, 2 * r + 1, 2 * r + 1, 2)
            coords_lvl = centroid_lvl + delta_lvl
            corr = bilinear_sampler(corr, coords_lvl)
            corr = corr.view(batch, h1, w1, -1)
            out_pyramid.append(corr)
        out = torch.cat(out_pyramid, dim=-1)
        return out.permute(0, 3, 1, 2).contiguous().float()

    @staticmethod
    def corr(fmap1, fmap2):
        batch, dim, ht, wd = fmap1.shape
        fmap1 = fmap1.view(batch, dim, ht * wd)
        fmap2 = fmap2.view(batch, dim, ht * wd)
        corr = torch.matmul(fmap1.transpose(1, 2), fmap2)
        corr = corr.view(batch, ht, wd, 1, ht, wd)
        return corr / torch.sqrt(torch.tensor(dim).float())


class ResidualBlock(nn.Module):
    def __init__(self, in_planes, planes, norm_fn="group", stride=1):
        super(ResidualBlock, self).__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, kernel_size=3, padding=1, stride=stride)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, padding=1)
        self.relu = nn.ReLU(inplace=True)
        if norm_fn == "group":
            self.norm1 = nn.GroupNorm(num_groups=planes // 4, num_channels=planes)
            self.norm2 = nn.GroupNorm(num_groups=planes // 4, num_channels=planes)
            self.norm3 = nn.GroupNorm(num_groups=planes // 4, num_channels=planes) if stride != 1 else None
        elif norm_fn == "instance":
            self.norm1, self.norm2 = nn.InstanceNorm2d(planes), nn.InstanceNorm2d(planes)
            self.norm3 = nn.InstanceNorm2d(planes) if stride != 1 else None
        self.downsample = None if stride == 1 else nn.Sequential(nn.Conv2d(in_planes, planes, kernel_size=1, stride=stride), self.norm3)

    def forward(self, x):
        y = self.relu(self.norm1(self.conv1(x)))
        y = self.relu(self.norm2(self.conv2(y)))
        if self.downsample is not None:
            x = self.downsample(x)
        return self.relu(x + y)


class Encoder(nn.Module):
    def __init__(self, out, norm_fn):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 7, stride=2, padding=3)
        self.layer = nn.Sequential(ResidualBlock(8, 8, norm_fn), ResidualBlock(8, 16, norm_fn, stride=2))
        self.conv2 = nn.Conv2d(16, out, 1)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.InstanceNorm2d, nn.GroupNorm)):
                if m.weight is not None:
                    nn.init.constant_(m.weight, 1)
                if m.bias is not None:
                    nn.init.constant_(m.bias, 0)

    def forward(self, x):
        is_list = isinstance(x, tuple) or isinstance(x, list)
        if is_list:
            batch_dim = x[0].shape[0]
            x = torch.cat(x, dim=0)
        x = self.conv2(self.layer(F.relu(self.conv1(x))))
        if is_list:
            x = torch.split(x, [batch_dim, batch_dim], dim=0)
        return x


class SepConvGRU(nn.Module):
    def __init__(self, hidden_dim=8, input_dim=8 + 8):
        super(SepConvGRU, self).__init__()
        for n in (1, 2):
            k, p = ((1, 5), (0, 2)) if n == 1 else ((5, 1), (2, 0))
            for g in "zrq":
                setattr(self, f"conv{g}{n}", nn.Conv2d(hidden_dim + input_dim, hidden_dim, k, padding=p))

    def forward(self, h, x):
        for n in (1, 2):
            hx = torch.cat([h, x], dim=1)
            z = torch.sigmoid(getattr(self, f"convz{n}")(hx))
            r = torch.sigmoid(getattr(self, f"convr{n}")(hx))
            q = torch.tanh(getattr(self, f"convq{n}")(torch.cat([r * h, x], dim=1)))
            h = (1 - z) * h + z * q
        return h


class RAFT(nn.Module):
    def __init__(self):
        super().__init__()
        self.fnet, self.cnet = Encoder(16, "instance"), Encoder(16, "group")
        self.motion = nn.Conv2d(2 * 9 + 2, 6, 3, padding=1)
        self.gru = SepConvGRU()
        self.flow_head = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(8, 2, 3, padding=1))
        self.mask = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(16, 16 * 9, 1, padding=0))

    def upsample_flow(self, flow, mask):
        N, _, H, W = flow.shape
        mask = mask.view(N, 1, 9, 4, 4, H, W)
        mask = torch.softmax(mask, dim=2)
        up_flow = F.unfold(4 * flow, [3, 3], padding=1)
        up_flow = up_flow.view(N, 2, 9, 1, 1, H, W)
        up_flow = torch.sum(mask * up_flow, dim=2)
        up_flow = up_flow.permute(0, 1, 4, 2, 5, 3)
        return up_flow.reshape(N, 2, 4 * H, 4 * W)

    def forward(self, image1, image2, iters=3):
        image1 = 2 * (image1 / 255.0) - 1.0
        image2 = 2 * (image2 / 255.0) - 1.0
        fmap1, fmap2 = self.fnet([image1, image2])
        corr_fn = CorrBlock(fmap1.float(), fmap2.float())
        net, inp = torch.split(self.cnet(image1), [8, 8], dim=1)
        net, inp = torch.tanh(net), torch.relu(inp)
        N, C, H, W = image1.shape
        coords0, coords1 = coords_grid(N, H // 4, W // 4), coords_grid(N, H // 4, W // 4)
        flow_predictions = []
        for itr in range(iters):
            coords1 = coords1.detach()
            corr = corr_fn(coords1)
            flow = coords1 - coords0
            motion = F.relu(self.motion(torch.cat([corr, flow], dim=1)))
            net = self.gru(net, torch.cat([inp, motion, flow], dim=1))
            delta_flow, up_mask = self.flow_head(net), 0.25 * self.mask(net)
            coords1 = coords1 + delta_flow
            flow_predictions.append(self.upsample_flow(coords1 - coords0, up_mask))
        return flow_predictions


def sequence_loss(flow_preds, flow_gt, valid, gamma=0.8, max_flow=400):
    n_predictions = len(flow_preds)
    flow_loss = 0.0
    mag = torch.sum(flow_gt ** 2, dim=1).sqrt()
    valid = (valid >= 0.5) & (mag < max_flow)
    for i in range(n_predictions):
        i_weight = gamma ** (n_predictions - i - 1)
        i_loss = (flow_preds[i] - flow_gt).abs()
        flow_loss += i_weight * (valid[:, None] * i_loss).mean()
    epe = torch.sum((flow_preds[-1] - flow_gt) ** 2, dim=1).sqrt()
    epe = epe.view(-1)[valid.view(-1)]
    return flow_loss, {"epe": epe.mean().item(), "1px": (epe < 1).float().mean().item(), "3px": (epe < 3).float().mean().item()}


model = RAFT()
print("Parameter Count: %d" % sum(p.numel() for p in model.parameters() if p.requires_grad))
compiled = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=5e-5, eps=1e-8)
scheduler = OneCycleLR(optimizer, 1e-3, 100, pct_start=0.05, cycle_momentum=False, anneal_strategy="linear")
image1 = torch.rand(2, 3, 32, 32) * 255
image2 = torch.roll(image1, shifts=(1, 2), dims=(2, 3))
flow = torch.tensor([2.0, 1.0]).view(1, 2, 1, 1).expand(2, 2, 32, 32)
valid = torch.ones(2, 32, 32)
for step in range(3):
    optimizer.zero_grad()
    preds = compiled(image1, image2)
    loss, metrics = sequence_loss(preds, flow, valid)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    print(f"[{step + 1:6d}, {scheduler.get_last_lr()[0]:10.7f}] loss {loss.item():.4f} " + ", ".join(f"{k} {v:.4f}" for k, v in metrics.items()))
warped, mask = bilinear_sampler(image2, (coords_grid(2, 32, 32) + flow).permute(0, 2, 3, 1), mask=True)
print("photometric", F.l1_loss(warped * mask.permute(0, 3, 1, 2), image1 * mask.permute(0, 3, 1, 2)).item(), mask.mean().item())
